/** The volumes of a pod. */
import {
  bool,
  field,
  inline,
  int32,
  int64,
  list,
  mapOf,
  quantity,
  struct,
  text,
  texts,
  atomic,
} from './schema.ts';
import { labelSelector, objectMeta } from './meta-schema.ts';
import type { Schema } from './schema.ts';

const core = 'io.k8s.api.core.v1';

export const localReference: Schema = atomic(
  struct(`${core}.LocalObjectReference`, 'Names an object in the same namespace.', [], {
    name: text('Its name.', { default: '' }),
  }),
);

export const objectReference: Schema = atomic(
  struct(`${core}.ObjectReference`, 'Names an object, or a part of one.', [], {
    kind: text('Its kind.'),
    namespace: text('Its namespace.'),
    name: text('Its name.'),
    uid: text('Its UID.'),
    apiVersion: text('The version of its API.'),
    resourceVersion: text('The version of the object that is meant.'),
    fieldPath: text('The part that is meant, as a path.'),
  }),
);

const keyToPath: Schema = struct(`${core}.KeyToPath`, 'A key that becomes a file.', ['key', 'path'], {
  key: text('The key.', { default: '' }),
  path: text('The relative path of the file.', { default: '' }),
  mode: int32('Permission bits of the file.'),
});

export const fieldSelector: Schema = atomic(
  struct(`${core}.ObjectFieldSelector`, 'A field of the pod.', ['fieldPath'], {
    apiVersion: text('The version that the path is written in.'),
    fieldPath: text('The path of the field.', { default: '' }),
  }),
);

export const resourceFieldSelector: Schema = atomic(
  struct(`${core}.ResourceFieldSelector`, 'A resource of a container.', ['resource'], {
    containerName: text('The container.'),
    resource: text('Like limits.cpu.', { default: '' }),
    divisor: quantity('The unit that the value is given in.'),
  }),
);

const defaultMode = int32('Permission bits of files that have none of their own.');
const optional = bool('Whether it may be missing.');
const readOnly = bool('Whether it cannot be written to.');
const fsType = text('The file system, like ext4.');
const secretRef = field(localReference, 'The secret with the credentials.');
const items = list(keyToPath, 'The keys that become files; all of them when empty.');

const downwardFile = struct(`${core}.DownwardAPIVolumeFile`, 'A file with a fact of the pod.', ['path'], {
  path: text('The relative path of the file.', { default: '' }),
  fieldRef: field(fieldSelector, 'A field of the pod.'),
  resourceFieldRef: field(resourceFieldSelector, 'A resource of a container.'),
  mode: int32('Permission bits of the file.'),
});

const projection = struct(`${core}.VolumeProjection`, 'One source of a projected volume.', [], {
  configMap: struct(`${core}.ConfigMapProjection`, 'Keys of a config map.', [], {
    name: text('Its name.', { default: '' }),
    items,
    optional,
  }),
  secret: struct(`${core}.SecretProjection`, 'Keys of a secret.', [], {
    name: text('Its name.', { default: '' }),
    items,
    optional,
  }),
  downwardAPI: struct(`${core}.DownwardAPIProjection`, 'Facts of the pod.', [], {
    items: list(downwardFile, 'The files.'),
  }),
  serviceAccountToken: struct(`${core}.ServiceAccountTokenProjection`, 'A token.', ['path'], {
    audience: text('Whom the token is for.'),
    expirationSeconds: int64('How long the token is good for.'),
    path: text('The relative path of the file.', { default: '' }),
  }),
  clusterTrustBundle: struct(`${core}.ClusterTrustBundleProjection`, 'Certificates to trust.', ['path'], {
    name: text('The name of one bundle.'),
    signerName: text('The signer of several.'),
    labelSelector: field(labelSelector, 'Which of the signer’s bundles.'),
    optional,
    path: text('The relative path of the file.', { default: '' }),
  }),
  podCertificate: struct(`${core}.PodCertificateProjection`, 'A certificate of the pod.', [], {
    signerName: text('The signer.', { default: '' }),
    keyType: text('The kind of key to make.', { default: '' }),
    maxExpirationSeconds: int32('How long the certificate may live.'),
    credentialBundlePath: text('File for key and certificates.'),
    keyPath: text('File for the key.'),
    certificateChainPath: text('File for the certificates.'),
    userAnnotations: mapOf('Passed on to the signer.'),
  }),
});

const claimSpec = struct(`${core}.PersistentVolumeClaimSpec`, 'What storage is asked for.', [], {
  accessModes: texts('How it is mounted.'),
  selector: field(labelSelector, 'Which volumes may serve.'),
  resources: inline(
    struct(`${core}.VolumeResourceRequirements`, 'How much.', [], {
      limits: mapOf('At most.', quantity('')),
      requests: mapOf('At least.', quantity('')),
    }),
    'How much.',
  ),
  volumeName: text('The volume that serves.'),
  storageClassName: text('The class of storage.'),
  volumeMode: text('Filesystem or Block.'),
  volumeAttributesClassName: text('The class of attributes.'),
  dataSource: field(
    atomic(
      struct(`${core}.TypedLocalObjectReference`, 'An object in the namespace.', ['kind', 'name'], {
        apiGroup: text('Its API group.'),
        kind: text('Its kind.', { default: '' }),
        name: text('Its name.', { default: '' }),
      }),
    ),
    'What the volume is filled from.',
  ),
  dataSourceRef: struct(`${core}.TypedObjectReference`, 'What the volume is filled from.', ['kind', 'name'], {
    apiGroup: text('Its API group.'),
    kind: text('Its kind.', { default: '' }),
    name: text('Its name.', { default: '' }),
    namespace: text('Its namespace.'),
  }),
});

export const volume: Schema = struct(
  `${core}.Volume`,
  'A volume that containers of the pod can mount.',
  ['name'],
  {
    name: text('Its name, unique in the pod.', { default: '' }),
    hostPath: struct(`${core}.HostPathVolumeSource`, 'A file or folder of the node.', ['path'], {
      path: text('Its path on the node.', { default: '' }),
      type: text('What has to be there.'),
    }),
    emptyDir: struct(`${core}.EmptyDirVolumeSource`, 'An empty folder that lives as long as the pod.', [], {
      medium: text('Memory, or empty for disk.'),
      sizeLimit: quantity('How large it may grow.'),
    }),
    secret: struct(`${core}.SecretVolumeSource`, 'The keys of a secret as files.', [], {
      secretName: text('Its name.'),
      items,
      defaultMode,
      optional,
    }),
    configMap: struct(`${core}.ConfigMapVolumeSource`, 'The keys of a config map as files.', [], {
      name: text('Its name.', { default: '' }),
      items,
      defaultMode,
      optional,
    }),
    downwardAPI: struct(`${core}.DownwardAPIVolumeSource`, 'Facts of the pod as files.', [], {
      items: list(downwardFile, 'The files.'),
      defaultMode,
    }),
    projected: struct(`${core}.ProjectedVolumeSource`, 'Several sources in one folder.', [], {
      sources: list(projection, 'The sources.'),
      defaultMode,
    }),
    persistentVolumeClaim: struct(
      `${core}.PersistentVolumeClaimVolumeSource`,
      'A claimed volume.',
      ['claimName'],
      {
        claimName: text('The claim.', { default: '' }),
        readOnly,
      },
    ),
    ephemeral: struct(`${core}.EphemeralVolumeSource`, 'A volume that is made for the pod.', [], {
      volumeClaimTemplate: struct(
        `${core}.PersistentVolumeClaimTemplate`,
        'The claim that is made.',
        ['spec'],
        {
          metadata: inline(objectMeta, 'Labels and annotations of the claim.'),
          spec: inline(claimSpec, 'What is asked for.'),
        },
      ),
    }),
    csi: struct(`${core}.CSIVolumeSource`, 'Storage of a CSI driver.', ['driver'], {
      driver: text('The driver.', { default: '' }),
      readOnly,
      fsType,
      volumeAttributes: mapOf('Passed on to the driver.'),
      nodePublishSecretRef: secretRef,
    }),
    nfs: struct(`${core}.NFSVolumeSource`, 'A share.', ['server', 'path'], {
      server: text('The host.', { default: '' }),
      path: text('The path that it exports.', { default: '' }),
      readOnly,
    }),
    image: struct(`${core}.ImageVolumeSource`, 'The files of an image.', [], {
      reference: text('The image.'),
      pullPolicy: text('When it is pulled.'),
    }),
    ...older(),
  },
);

/** Sources of single vendors and protocols: accepted, and not described field by field. */
function older(): Readonly<Record<string, Schema>> {
  const names = {
    awsElasticBlockStore: 'AWSElasticBlockStoreVolumeSource',
    azureDisk: 'AzureDiskVolumeSource',
    azureFile: 'AzureFileVolumeSource',
    cephfs: 'CephFSVolumeSource',
    cinder: 'CinderVolumeSource',
    fc: 'FCVolumeSource',
    flexVolume: 'FlexVolumeSource',
    flocker: 'FlockerVolumeSource',
    gcePersistentDisk: 'GCEPersistentDiskVolumeSource',
    gitRepo: 'GitRepoVolumeSource',
    glusterfs: 'GlusterfsVolumeSource',
    iscsi: 'ISCSIVolumeSource',
    photonPersistentDisk: 'PhotonPersistentDiskVolumeSource',
    portworxVolume: 'PortworxVolumeSource',
    quobyte: 'QuobyteVolumeSource',
    rbd: 'RBDVolumeSource',
    scaleIO: 'ScaleIOVolumeSource',
    storageos: 'StorageOSVolumeSource',
    vsphereVolume: 'VsphereVirtualDiskVolumeSource',
  };
  return Object.fromEntries(
    Object.entries(names).map(([key, name]) => [
      key,
      {
        name: `${core}.${name}`,
        type: 'object',
        description: 'Storage of one kind; its fields are kept as they are.',
        preserveUnknownFields: true,
      } satisfies Schema,
    ]),
  );
}
