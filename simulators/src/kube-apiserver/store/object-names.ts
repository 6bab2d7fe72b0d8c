/** Keys of collections, and names made up for `generateName`. */
import { randomInt } from 'node:crypto';

/** The letters of k8s.io/apimachinery/pkg/util/rand: no vowels, so that no words come out. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789';

export function objectKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

export function randomSuffix(length = 5): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}
