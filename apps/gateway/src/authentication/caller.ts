/** Keys in lower case, each with its values in order. */
export type Extra = ReadonlyMap<string, readonly string[]>;

/** Who is calling, as the gateway has verified it; or as whom somebody acts who may. */
export interface Caller {
  /** How it was verified; `none` on a listener that asks nobody. */
  readonly method: 'certificate' | 'token' | 'oidc' | 'none';
  /** Empty for `none`. */
  readonly user: string;
  readonly uid: string | undefined;
  readonly groups: readonly string[];
  /** What else is known of the caller. */
  readonly extra?: Extra | undefined;
}

export const anonymousCaller: Caller = { method: 'none', user: '', uid: undefined, groups: [] };
