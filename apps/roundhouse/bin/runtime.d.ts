export function isSupported(version: string): boolean;
export function findInstalledNode(folder: string): string | undefined;
export function continueWithNode(folder: string, args: readonly string[]): void;
