/** k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto */
import { list, map, message, one, pointer, text } from './message-schema.ts';

const ownerReference = message('OwnerReference', {
  1: text('kind'),
  3: text('name'),
  4: text('uid'),
  5: text('apiVersion'),
  6: pointer('controller', 'bool'),
  7: pointer('blockOwnerDeletion', 'bool'),
});

export const objectMeta = message('ObjectMeta', {
  1: text('name'),
  2: text('generateName'),
  3: text('namespace'),
  4: text('selfLink'),
  5: text('uid'),
  6: text('resourceVersion'),
  7: one('generation', 'int'),
  8: one('creationTimestamp', 'time'),
  9: one('deletionTimestamp', 'time'),
  10: pointer('deletionGracePeriodSeconds', 'int'),
  11: map('labels'),
  12: map('annotations'),
  13: list('ownerReferences', ownerReference),
  14: list('finalizers'),
  // Kept by the server, whatever a client that read it sends back.
  17: one('managedFields', 'unread'),
});

const labelSelectorRequirement = message('LabelSelectorRequirement', {
  1: text('key'),
  2: text('operator'),
  3: list('values'),
});

export const labelSelector = message('LabelSelector', {
  1: map('matchLabels'),
  2: list('matchExpressions', labelSelectorRequirement),
});

export const deleteOptions = message('DeleteOptions', {
  1: pointer('gracePeriodSeconds', 'int'),
  2: one('preconditions', message('Preconditions', { 1: text('uid'), 2: text('resourceVersion') })),
  3: pointer('orphanDependents', 'bool'),
  4: text('propagationPolicy'),
  5: list('dryRun'),
});
