const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** `812B`, `1.4KiB`, `37MiB`: three digits at most. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 10 ? Math.round(value) : value.toFixed(1)}${units[unit] ?? ''}`;
}
