/** Ages as kubectl shows them (k8s.io/apimachinery/pkg/util/duration): 45s, 4m30s, 3h20m, 5d4h, 12d, 2y30d. */

export function humanDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return joined(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return joined(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (hours < 24 * 8) return joined(days, 'd', hours % 24, 'h');
  if (hours < 24 * 365 * 2) return `${days}d`;
  const years = Math.floor(days / 365);
  return hours < 24 * 365 * 8 ? joined(years, 'y', days % 365, 'd') : `${years}y`;
}

/** The age of a timestamp; `<unknown>` when there is none. */
export function age(since: string, now: number): string {
  const ms = Date.parse(since);
  return Number.isNaN(ms) ? '<unknown>' : humanDuration(now - ms);
}

function joined(whole: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${whole}${unit}` : `${whole}${unit}${rest}${restUnit}`;
}
