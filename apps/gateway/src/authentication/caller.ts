/** Who is calling, as the gateway has verified it. */
export interface Caller {
  /** How it was verified; `none` on a listener that asks nobody. */
  readonly method: 'certificate' | 'token' | 'none';
  /** Empty for `none`. */
  readonly user: string;
  readonly uid: string | undefined;
  readonly groups: readonly string[];
}

export const anonymousCaller: Caller = { method: 'none', user: '', uid: undefined, groups: [] };
