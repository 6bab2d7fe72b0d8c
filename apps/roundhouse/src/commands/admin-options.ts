// The options that every command has which asks a running gateway.

import { Option, type Command } from 'commander';
import { askAdmin, defaultAdminUrl } from '../admin-client.ts';
import { CommandError } from '../command-error.ts';

export interface AdminOptions {
  readonly admin: string;
  readonly requestTimeout: number;
}

export function addAdminOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--admin <url>', "the gateway's admin listener")
        .default(defaultAdminUrl)
        .env('ROUNDHOUSE_ADMIN'),
    )
    .addOption(
      new Option('--request-timeout <seconds>', 'longest wait for an answer')
        .default(10)
        .argParser((text) => parseSeconds('--request-timeout', text)),
    );
}

export function readAdmin(options: AdminOptions, path: string, signal: AbortSignal): Promise<unknown> {
  return askAdmin({ url: options.admin, path, timeoutMs: options.requestTimeout * 1000, signal });
}

/** To do something, and not only to look. */
export function postAdmin(options: AdminOptions, path: string, signal: AbortSignal): Promise<unknown> {
  const { admin: url, requestTimeout } = options;
  return askAdmin({ url, path, method: 'POST', timeoutMs: requestTimeout * 1000, signal });
}

export function parseSeconds(flag: string, text: string): number {
  const seconds = Number(text);
  if (text.trim() === '' || !Number.isFinite(seconds) || seconds <= 0 || seconds > 86_400) {
    throw new CommandError('usage', `${flag} "${text}" is not a number of seconds above 0 and up to 86400`);
  }
  return seconds;
}
