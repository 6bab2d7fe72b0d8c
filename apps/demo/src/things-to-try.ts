import { styleText } from 'node:util';
import { defaultAdminPort } from './options.ts';

export interface DemoFacts {
  readonly gatewayUrl: string;
  readonly adminUrl: string;
  /** As a person in the folder where the demo was started writes it. */
  readonly kubeconfig: string;
  /** Where it lies, in the same way. */
  readonly folder: string;
}

interface Attempt {
  readonly command: string;
  readonly shows: string;
}

/** What is printed once the demo is up. Colours follow the terminal and NO_COLOR. */
export function describeDemo(facts: DemoFacts): string {
  const attempts = thingsToTry(facts);
  const width = Math.max(...attempts.map(({ command }) => command.length));
  const lines = attempts.map(
    ({ command, shows }) => `  ${command.padEnd(width)}  ${styleText('dim', `# ${shows}`)}`,
  );
  return `${styleText('bold', 'Roundhouse: clusters alpha and beta behind one gateway')}

  gateway  ${facts.gatewayUrl}
  admin    ${facts.adminUrl}
  callers  admin, who may do everything, and dev, who may work in the namespace yard of alpha

In another shell:

  export KUBECONFIG=${facts.kubeconfig}
${lines.join('\n')}

${styleText('bold', 'Replace a certificate')} while a shell is open on beta (kubectl --context beta exec -it deploy/tickets -- sh):

${certificateSteps(facts).join('\n')}

Ctrl-C stops it and leaves nothing behind.
`;
}

/** Files are followed: no command of ours is needed to replace one. */
function certificateSteps(facts: DemoFacts): string[] {
  const attempts: readonly Attempt[] = [
    {
      command: `(cd ${facts.folder} && cp beta.2.crt beta.crt && cp beta.2.key beta.key)`,
      shows: 'new requests use it within a second; beta.1 is the way back',
    },
    {
      command: `npx roundhouse transports${adminFlag(facts)}`,
      shows: 'both generations, until the shell has ended or drained',
    },
    {
      command: `echo broken > ${facts.folder}/beta.crt`,
      shows: 'changes nothing but what roundhouse clusters says',
    },
  ];
  return attempts.map(({ command, shows }) => `  ${command}\n      ${styleText('dim', `# ${shows}`)}`);
}

function adminFlag({ adminUrl }: DemoFacts): string {
  return adminUrl.endsWith(`:${defaultAdminPort}`) ? '' : ` --admin ${adminUrl}`;
}

function thingsToTry(facts: DemoFacts): readonly Attempt[] {
  const { adminUrl } = facts;
  const admin = adminFlag(facts);
  return [
    { command: 'kubectl --context alpha get pods -A -o wide', shows: 'what runs on alpha' },
    { command: 'kubectl --context alpha get pods -A -w', shows: 'deployments grow and shrink' },
    { command: 'kubectl --context alpha logs -f deploy/signals', shows: 'a line a second' },
    { command: 'kubectl --context alpha exec -it deploy/signals -- sh', shows: 'a shell, of a kind' },
    { command: 'kubectl --context alpha apply -f examples/hello.yaml', shows: 'two pods of your own' },
    { command: 'kubectl --context alpha describe deploy hello', shows: 'with its events' },
    { command: 'kubectl --context alpha delete -f examples/hello.yaml', shows: 'and gone' },
    { command: 'kubectl --context alpha api-resources', shows: 'what there is' },
    { command: 'kubectl --context beta get deploy -A', shows: 'the other cluster, the same gateway' },
    {
      command: 'kubectl --context alpha-dev auth whoami',
      shows: 'you as dev, seen by alpha through the gateway',
    },
    { command: 'kubectl --context alpha-dev scale deploy timetable --replicas 2', shows: 'allowed, in yard' },
    { command: 'kubectl --context alpha-dev get pods -n default', shows: 'forbidden, by a role of alpha' },
    { command: 'kubectl --context beta --user dev get pods', shows: 'forbidden, by a rule of the gateway' },
    {
      command: `npx roundhouse auth can-i --list --as dev --as-group developers${admin}`,
      shows: 'which rules those are',
    },
    {
      command: `npx roundhouse transports${admin}`,
      shows: 'one transport a cluster, however many kubectls run',
    },
    { command: `npx roundhouse sessions${admin}`, shows: 'who has a shell open' },
    { command: `npx roundhouse clusters -o wide${admin}`, shows: 'state, identity, expiry' },
    { command: `curl ${adminUrl}/metrics`, shows: 'the same in numbers' },
  ];
}
