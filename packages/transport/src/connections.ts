/**
 * The open connections of one transport: which are idle, which are shared sessions, which work. It counts and chooses;
 * what is sent on them is the transport's matter. An entry leaves when its socket is gone.
 */

import type { Connection } from './connection.ts';
import type { ProtocolChoice } from './protocol-choice.ts';
import type { RequestKind } from './request.ts';

export class Connections {
  readonly #all = new Set<Connection>();
  /** HTTP/1.1 connections that are idle, the most recently used last. */
  readonly #idle: Connection[] = [];
  /** HTTP/2 sessions that take new streams. */
  readonly #sessions = new Set<Connection>();
  /** HTTP/1.1 connections at work, by the kind of their exchange. */
  readonly #working: Record<RequestKind, number> = { unary: 0, stream: 0 };
  /** Of connections that are gone. */
  readonly #past = { bytesIn: 0, bytesOut: 0 };

  get size(): number {
    return this.#all.size;
  }

  /** Whether there is one that will take something again: those that only end what they carry are no hope for anybody. */
  get hopeful(): boolean {
    return [...this.#all].some(({ state, socket }) => state !== 'draining' && !socket.destroyed);
  }

  get sessions(): number {
    return this.#sessions.size;
  }

  /** HTTP/1.1 connections that serve short requests or could. */
  get short(): number {
    return this.#working.unary + this.#idle.length;
  }

  [Symbol.iterator](): IterableIterator<Connection> {
    return this.#all.values();
  }

  add(connection: Connection): void {
    this.#all.add(connection);
    if (connection.protocol === 'h2') {
      this.#sessions.add(connection);
    }
  }

  /** A session with room, else the idle connection that was used last: the others then age and are closed. */
  available(kind: RequestKind, choice: ProtocolChoice): Connection | undefined {
    if (choice.fits(kind, 'h2')) {
      for (const session of this.#sessions) {
        if (session.hasRoom(kind)) {
          return session;
        }
      }
    }
    return choice.fits(kind, 'http/1.1')
      ? this.#idle.findLast((connection) => connection.hasRoom(kind))
      : undefined;
  }

  occupied(connection: Connection, kind: RequestKind): void {
    this.forgetIdle(connection);
    if (connection.protocol === 'http/1.1') {
      this.#working[kind] += 1;
    }
  }

  released(connection: Connection, kind: RequestKind): void {
    if (connection.protocol === 'http/1.1') {
      this.#working[kind] -= 1;
    }
  }

  /** Returns the one that is idle longest where more than `maxIdle` are, whatever they speak. */
  keepIdle(connection: Connection, maxIdle: number): Connection | undefined {
    connection.idles();
    if (connection.protocol === 'http/1.1') {
      this.#idle.push(connection);
    }
    let count = this.#idle.length;
    let eldest = this.#idle[0];
    for (const session of this.#sessions) {
      if (session.state === 'idle') {
        count += 1;
        eldest = eldest === undefined || session.lastUsedAt < eldest.lastUsedAt ? session : eldest;
      }
    }
    return count > maxIdle ? eldest : undefined;
  }

  /** The HTTP/1.1 connection that is idle longest. */
  eldestIdle(): Connection | undefined {
    return this.#idle[0];
  }

  forgetIdle(connection: Connection): void {
    const index = this.#idle.lastIndexOf(connection);
    if (index !== -1) {
      this.#idle.splice(index, 1);
    }
  }

  /** It takes nothing new: from now on it counts against no limit. */
  retired(connection: Connection): void {
    this.forgetIdle(connection);
    this.#sessions.delete(connection);
  }

  /** False when it has left already. */
  remove(connection: Connection): boolean {
    this.retired(connection);
    if (!this.#all.delete(connection)) {
      return false;
    }
    this.#past.bytesIn += bytesOf(connection, 'bytesRead');
    this.#past.bytesOut += bytesOf(connection, 'bytesWritten');
    return true;
  }

  count(): { idle: number; active: number; draining: number } {
    const counts = { idle: 0, active: 0, draining: 0 };
    for (const { state, socket } of this.#all) {
      if (state !== 'closed') {
        // Between the end of a socket and the news of it.
        counts[socket.destroyed ? 'draining' : state] += 1;
      }
    }
    return counts;
  }

  http2(): { connections: number; requests: number } {
    let requests = 0;
    for (const { riding } of this.#sessions) {
      requests += riding;
    }
    return { connections: this.#sessions.size, requests };
  }

  /** Both directions as we see them, since the transport was built. */
  bytes(): { bytesIn: number; bytesOut: number } {
    const bytes = { ...this.#past };
    for (const connection of this.#all) {
      bytes.bytesIn += bytesOf(connection, 'bytesRead');
      bytes.bytesOut += bytesOf(connection, 'bytesWritten');
    }
    return bytes;
  }
}

/** A dialer may return a duplex that does not count. */
function bytesOf(connection: Connection, counter: 'bytesRead' | 'bytesWritten'): number {
  const value: unknown = Reflect.get(connection.socket, counter);
  return typeof value === 'number' ? value : 0;
}
