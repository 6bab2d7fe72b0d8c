/**
 * Which lists a strategic merge patch merges, and by which key: the `patchStrategy` and `patchMergeKey` tags of the Go types, as a
 * tree along the fields. A list that is not named here is replaced as a whole.
 */

export interface MergeSchema {
  readonly fields?: Readonly<Record<string, MergeSchema>>;
  /** This is a list that is merged: of objects by this key, or, with `''`, of primitive values as a set. */
  readonly mergeKey?: string;
}

/** Objects of a list, by key. */
function by(mergeKey: string, fields: Readonly<Record<string, MergeSchema>> = {}): MergeSchema {
  return { mergeKey, fields };
}

const primitives: MergeSchema = { mergeKey: '' };

const metaSchema: MergeSchema = { fields: { finalizers: primitives, ownerReferences: by('uid') } };

const containerFields = {
  env: by('name'),
  ports: by('containerPort'),
  volumeMounts: by('mountPath'),
  volumeDevices: by('devicePath'),
} as const;

const podSpecSchema: MergeSchema = {
  fields: {
    containers: by('name', containerFields),
    initContainers: by('name', containerFields),
    ephemeralContainers: by('name', containerFields),
    volumes: by('name'),
    imagePullSecrets: by('name'),
    hostAliases: by('ip'),
    topologySpreadConstraints: by('topologyKey'),
    resourceClaims: by('name'),
    schedulingGates: by('name'),
  },
};

const podTemplateSchema: MergeSchema = { fields: { metadata: metaSchema, spec: podSpecSchema } };

const conditions = { conditions: by('type') } as const;

export const plainSchema: MergeSchema = { fields: { metadata: metaSchema } };

export const podSchema: MergeSchema = {
  fields: {
    metadata: metaSchema,
    spec: podSpecSchema,
    status: { fields: { ...conditions, podIPs: by('ip'), hostIPs: by('ip') } },
  },
};

/** Deployments and replica sets. */
export const workloadSchema: MergeSchema = {
  fields: {
    metadata: metaSchema,
    spec: { fields: { template: podTemplateSchema } },
    status: { fields: conditions },
  },
};

export const serviceSchema: MergeSchema = {
  fields: { metadata: metaSchema, spec: { fields: { ports: by('port') } }, status: { fields: conditions } },
};

export const serviceAccountSchema: MergeSchema = { fields: { metadata: metaSchema, secrets: by('name') } };

export const nodeSchema: MergeSchema = {
  fields: {
    metadata: metaSchema,
    spec: { fields: { podCIDRs: primitives } },
    status: { fields: { ...conditions, addresses: by('type') } },
  },
};

export const namespaceSchema: MergeSchema = {
  fields: { metadata: metaSchema, status: { fields: conditions } },
};
