/** The containers of a pod. */
import {
  bool,
  field,
  inline,
  int32,
  int64,
  intOrString,
  list,
  mapList,
  mapOf,
  quantity,
  setList,
  struct,
  text,
  texts,
  atomic,
} from './schema.ts';
import type { Schema } from './schema.ts';
import { fieldSelector, resourceFieldSelector } from './volume-schema.ts';

const core = 'io.k8s.api.core.v1';

const keySelector = (name: string, what: string): Schema =>
  atomic(
    struct(`${core}.${name}`, `A key of a ${what}.`, ['key'], {
      name: text('Its name.', { default: '' }),
      key: text('The key.', { default: '' }),
      optional: bool('Whether it may be missing.'),
    }),
  );

const envSource = (name: string, what: string): Schema =>
  struct(`${core}.${name}`, `All keys of a ${what}.`, [], {
    name: text('Its name.', { default: '' }),
    optional: bool('Whether it may be missing.'),
  });

const envVar = struct(`${core}.EnvVar`, 'A variable of the environment.', ['name'], {
  name: text('Its name.', { default: '' }),
  value: text('Its value; `$(NAME)` stands for another variable.'),
  valueFrom: struct(`${core}.EnvVarSource`, 'Where its value comes from.', [], {
    fieldRef: field(fieldSelector, 'A field of the pod.'),
    resourceFieldRef: field(resourceFieldSelector, 'A resource of the container.'),
    configMapKeyRef: keySelector('ConfigMapKeySelector', 'config map'),
    secretKeyRef: keySelector('SecretKeySelector', 'secret'),
    fileKeyRef: atomic(
      struct(`${core}.FileKeySelector`, 'A key of a file.', ['volumeName', 'path', 'key'], {
        volumeName: text('The volume.', { default: '' }),
        path: text('The file.', { default: '' }),
        key: text('The key.', { default: '' }),
        optional: { ...bool('Whether it may be missing.'), default: false },
      }),
    ),
  }),
});

const envFrom = struct(`${core}.EnvFromSource`, 'Variables from elsewhere.', [], {
  prefix: text('Put in front of each name.'),
  configMapRef: envSource('ConfigMapEnvSource', 'config map'),
  secretRef: envSource('SecretEnvSource', 'secret'),
});

const port = struct(`${core}.ContainerPort`, 'A port that the container listens on.', ['containerPort'], {
  name: text('A name that services can refer to.'),
  containerPort: { ...int32('The number.'), default: 0 },
  hostPort: int32('The port of the node that leads here.'),
  hostIP: text('The address of the node that leads here.'),
  protocol: text('TCP, UDP or SCTP.', { default: 'TCP' }),
});

const exec = struct(`${core}.ExecAction`, 'Runs a command in the container.', [], {
  command: texts('The program and its arguments.'),
});
const httpGet = struct(`${core}.HTTPGetAction`, 'Sends a GET.', ['port'], {
  path: text('The path.'),
  port: intOrString('Number or name of the port.'),
  host: text('The host; the address of the pod when empty.'),
  scheme: text('HTTP or HTTPS.'),
  httpHeaders: list(
    struct(`${core}.HTTPHeader`, 'A header.', ['name', 'value'], {
      name: text('Its name.', { default: '' }),
      value: text('Its value.', { default: '' }),
    }),
    'Headers to send.',
  ),
});
const tcpSocket = struct(`${core}.TCPSocketAction`, 'Opens a connection.', ['port'], {
  port: intOrString('Number or name of the port.'),
  host: text('The host; the address of the pod when empty.'),
});

const probe = struct(`${core}.Probe`, 'A check that is made again and again.', [], {
  exec: field(exec, 'Passes when the command exits with 0.'),
  httpGet: field(httpGet, 'Passes on a status from 200 to 399.'),
  tcpSocket: field(tcpSocket, 'Passes when the connection opens.'),
  grpc: struct(`${core}.GRPCAction`, 'Asks the health service of gRPC.', ['port'], {
    port: { ...int32('The number.'), default: 0 },
    service: text('The service that is asked about.', { default: '' }),
  }),
  initialDelaySeconds: int32('How long after the start the first check is made.'),
  timeoutSeconds: int32('How long a check may take.'),
  periodSeconds: int32('The time between checks.'),
  successThreshold: int32('Passes in a row that count as recovered.'),
  failureThreshold: int32('Failures in a row that count.'),
  terminationGracePeriodSeconds: int64('How long the pod may take to stop when the check has failed.'),
});

const lifecycleHandler = struct(
  `${core}.LifecycleHandler`,
  'What is done at a point of a container’s life.',
  [],
  {
    exec: field(exec, 'Runs a command.'),
    httpGet: field(httpGet, 'Sends a GET.'),
    tcpSocket: field(tcpSocket, 'Kept for old clients.'),
    sleep: struct(`${core}.SleepAction`, 'Waits.', ['seconds'], {
      seconds: { ...int64('How long.'), default: 0 },
    }),
  },
);

export const seccompProfile: Schema = struct(
  `${core}.SeccompProfile`,
  'A filter of system calls.',
  ['type'],
  {
    type: text('RuntimeDefault, Unconfined or Localhost.', { default: '' }),
    localhostProfile: text('The file on the node, for Localhost.'),
  },
);
export const appArmorProfile: Schema = struct(`${core}.AppArmorProfile`, 'An AppArmor profile.', ['type'], {
  type: text('RuntimeDefault, Unconfined or Localhost.', { default: '' }),
  localhostProfile: text('The profile on the node, for Localhost.'),
});
export const seLinuxOptions: Schema = struct(`${core}.SELinuxOptions`, 'An SELinux context.', [], {
  user: text('User.'),
  role: text('Role.'),
  type: text('Type.'),
  level: text('Level.'),
});
export const windowsOptions: Schema = struct(
  `${core}.WindowsSecurityContextOptions`,
  'For Windows nodes.',
  [],
  {
    gmsaCredentialSpecName: text('The name of the credential spec.'),
    gmsaCredentialSpec: text('The credential spec itself.'),
    runAsUserName: text('The user.'),
    hostProcess: bool('Whether it runs on the host.'),
  },
);

const securityContext = struct(
  `${core}.SecurityContext`,
  'What the container may do and as whom it runs.',
  [],
  {
    capabilities: struct(`${core}.Capabilities`, 'Capabilities of the kernel.', [], {
      add: texts('Those that it gets.'),
      drop: texts('Those that it loses.'),
    }),
    privileged: bool('Whether it may do what root of the host may.'),
    seLinuxOptions: field(seLinuxOptions, 'Its SELinux context.'),
    windowsOptions: field(windowsOptions, 'For Windows nodes.'),
    runAsUser: int64('The user id.'),
    runAsGroup: int64('The group id.'),
    runAsNonRoot: bool('Whether user id 0 is refused.'),
    readOnlyRootFilesystem: bool('Whether its root cannot be written to.'),
    allowPrivilegeEscalation: bool('Whether a process may gain more rights than its parent.'),
    procMount: text('How /proc is mounted.'),
    seccompProfile: field(seccompProfile, 'Its filter of system calls.'),
    appArmorProfile: field(appArmorProfile, 'Its AppArmor profile.'),
  },
);

export const resources: Schema = struct(`${core}.ResourceRequirements`, 'What it needs and may use.', [], {
  limits: mapOf('What it may use at most.', quantity('')),
  requests: mapOf('What is set aside for it.', quantity('')),
  claims: mapList(
    struct(`${core}.ResourceClaim`, 'A claim of the pod.', ['name'], {
      name: text('Its name.', { default: '' }),
      request: text('One request of it.'),
    }),
    ['name'],
    'Claims of the pod that it uses.',
    undefined,
  ),
});

const volumeMount = struct(`${core}.VolumeMount`, 'Where a volume appears.', ['name', 'mountPath'], {
  name: text('The volume.', { default: '' }),
  mountPath: text('Where it appears.', { default: '' }),
  readOnly: bool('Whether it cannot be written to.'),
  recursiveReadOnly: text('Whether mounts below it are read-only too.'),
  subPath: text('The folder of the volume that appears.'),
  subPathExpr: text('The same, with variables in it.'),
  mountPropagation: text('How mounts below it travel.'),
});

export const container: Schema = struct(`${core}.Container`, 'A container that runs in a pod.', ['name'], {
  name: text('Its name, unique in the pod.', { default: '' }),
  image: text('The image that it runs.'),
  command: texts('The program, in place of the image’s entry point.'),
  args: texts('Arguments of the program.'),
  workingDir: text('The folder that it starts in.'),
  ports: mapList(port, ['containerPort', 'protocol'], 'The ports that it listens on.'),
  envFrom: list(envFrom, 'Variables from config maps and secrets.'),
  env: mapList(envVar, ['name'], 'The variables of its environment.'),
  resources: inline(resources, 'What it needs and may use of the node.'),
  resizePolicy: list(
    struct(
      `${core}.ContainerResizePolicy`,
      'What a change of a resource means.',
      ['resourceName', 'restartPolicy'],
      {
        resourceName: text('cpu or memory.', { default: '' }),
        restartPolicy: text('Whether it is restarted.', { default: '' }),
      },
    ),
    'What changes of its resources mean.',
  ),
  restartPolicy: text('Always, for an init container that runs on beside the others.'),
  restartPolicyRules: list(
    struct(`${core}.ContainerRestartRule`, 'When to restart.', ['action'], {
      action: text('What to do.'),
      exitCodes: struct(`${core}.ContainerRestartRuleOnExitCodes`, 'Exit codes.', ['operator'], {
        operator: text('In or NotIn.'),
        values: setList(int32(''), 'The codes.'),
      }),
    }),
    'When it is restarted.',
  ),
  volumeMounts: mapList(volumeMount, ['mountPath'], 'The volumes that it sees.'),
  volumeDevices: mapList(
    struct(`${core}.VolumeDevice`, 'A raw device.', ['name', 'devicePath'], {
      name: text('The volume.', { default: '' }),
      devicePath: text('Where it appears.', { default: '' }),
    }),
    ['devicePath'],
    'The raw devices that it sees.',
  ),
  livenessProbe: field(probe, 'When it fails, the container is restarted.'),
  readinessProbe: field(probe, 'While it fails, the container gets no traffic.'),
  startupProbe: field(probe, 'Until it passes, the other checks wait.'),
  lifecycle: struct(`${core}.Lifecycle`, 'What is done after its start and before its end.', [], {
    postStart: field(lifecycleHandler, 'Right after the start.'),
    preStop: field(lifecycleHandler, 'Right before the end.'),
    stopSignal: text('The signal that ends it.'),
  }),
  terminationMessagePath: text('The file whose content tells why it ended.'),
  terminationMessagePolicy: text('File, or FallbackToLogsOnError.'),
  imagePullPolicy: text('Always, IfNotPresent or Never.'),
  securityContext: field(securityContext, 'What it may do and as whom it runs.'),
  stdin: bool('Whether its standard input is kept open.'),
  stdinOnce: bool('Whether the input ends with the first client.'),
  tty: bool('Whether it has a terminal.'),
});

export const ephemeralContainer: Schema = {
  ...container,
  name: `${core}.EphemeralContainer`,
  description: 'A container that is added to a running pod for looking into it.',
  properties: {
    ...container.properties,
    targetContainerName: text('The container whose processes it sees.'),
  },
};
