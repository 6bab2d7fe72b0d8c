import { at, parseJson } from '../../kube-apiserver/json.ts';
import type { ExecExit } from './exec-client.ts';

/** What the error stream says. Before v4 it says nothing of a success, and nothing that can be read of a failure. */
export function parseExit(status: string, withStatus: boolean): ExecExit {
  if (!withStatus) return { code: status === '' ? 0 : undefined, status };
  const parsed = parseJson(status);
  if (at(parsed, 'status') === 'Success') return { code: 0, status };
  const cause = at(parsed, 'details', 'causes', 0, 'message');
  const exited = at(parsed, 'reason') === 'NonZeroExitCode' && typeof cause === 'string';
  return { code: exited ? Number(cause) : undefined, status };
}
