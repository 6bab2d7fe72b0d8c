/**
 * Lines of one shape, of which there are thousands a second: whoever writes them composes their JSON, which is a third of what it
 * costs to have an object gone through. Level, time, bindings and destination are the logger's. Nothing is redacted here, so only
 * what cannot be a secret belongs into such a line.
 */

import { symbols } from 'pino';
import type { Logger } from 'pino';

/** Of a logger of pino, under symbols that it has for integrations (its api.md, `pino.symbols`). Tests hold that lines look as its own. */
interface Inside {
  /** By level, `{"level":"info"`. */
  readonly [symbols.lsCacheSym]: Readonly<Record<number, string>>;
  /** `,"time":"..."` */
  readonly [symbols.timeSym]: () => string;
  /** `,"name":"value"` of each, or nothing. */
  readonly [symbols.chindingsSym]: string;
  readonly [symbols.streamSym]: { write(line: string): void };
}

export class LineLog {
  readonly #logger: Logger & Inside;
  readonly #end: string;
  readonly #info: number;
  readonly #error: number;

  /** @param message of all lines */
  constructor(logger: Logger, message: string) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- pino's types leave out what its symbols lead to
    this.#logger = logger as Logger & Inside;
    this.#end = `,"msg":${JSON.stringify(message)}}\n`;
    const { info = Number.NaN, error = Number.NaN } = logger.levels.values;
    this.#info = info;
    this.#error = error;
  }

  /** @param fields as they stand in the line, each with a comma in front: `,"a":1,"b":"x"`; not called below the logger's level */
  info(fields: () => string): void {
    this.#write(this.#info, fields);
  }

  error(fields: () => string): void {
    this.#write(this.#error, fields);
  }

  #write(level: number, fields: () => string): void {
    const logger = this.#logger;
    if (level >= logger.levelVal) {
      logger[symbols.streamSym].write(
        `${logger[symbols.lsCacheSym][level]}${logger[symbols.timeSym]()}${logger[symbols.chindingsSym]}${fields()}${this.#end}`,
      );
    }
  }
}
