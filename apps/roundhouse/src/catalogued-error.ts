/** An error of one of our catalogues, told by its code: loading the package that made it is not worth it here. */
export function isCatalogued(error: unknown): error is Error & { readonly code: string } {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    error.code.startsWith('ERR_RH_')
  );
}
