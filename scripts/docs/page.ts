/** A page of docs/ that is generated from what the code says of itself. */
export interface Page {
  /** Relative to the root. */
  readonly file: string;
  render(): Promise<string>;
}
