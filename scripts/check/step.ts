/** One thing that `npm run check` looks at. */
export interface Step {
  /** What it is called on the command line. */
  readonly name: string;
  /** What holds when it passes, in a few words. */
  readonly purpose: string;
  /** What is wrong under `root`, one entry a finding; nothing when all is well. */
  run(root: string): Promise<readonly string[]>;
}
