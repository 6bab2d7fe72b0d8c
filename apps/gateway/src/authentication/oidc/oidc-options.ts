/** What the gateway is told about an issuer; the names are those of the kube-apiserver's `--oidc-...` flags where it has them. */

import { z } from 'zod';
import { filePath } from '../../file-path.ts';

/** Asymmetric ones only: with a shared secret everybody who verifies could sign. */
const signingAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const;

/** As the kube-apiserver takes them: compared in lower case. */
const extraKey = z
  .string()
  .regex(/^[^A-Z\s]+$/, 'the key of an extra field is in lower case and has no spaces');

export const oidcOptionsSchema = z.strictObject({
  issuer: z
    .url({ protocol: /^https$/, error: 'not an https:// URL' })
    .refine((text) => !/[?#]/.test(text), 'an issuer has neither query nor fragment')
    .describe('callers by tokens of this OIDC issuer; its URL exactly as tokens have it'),
  audiences: z.array(z.string().min(1)).min(1).describe('for whom a token must be made: one of these'),
  caFile: filePath.optional().describe("CA of the issuer's certificate; without it, the roots of Node.js"),
  usernameClaim: z.string().min(1).default('sub').describe('the claim that names the user'),
  usernamePrefix: z
    .string()
    .optional()
    .describe("put before the user; default: ISSUER# unless the claim is email; '-': nothing"),
  groupsClaim: z.string().min(1).optional().describe('the claim that has the groups, as text or a list'),
  groupsPrefix: z.string().default('').describe('put before each group'),
  extraClaims: z
    .record(extraKey, z.string().min(1))
    .default({})
    .describe('extra fields of the user, each with the claim that it is made of'),
  requiredClaims: z.record(z.string(), z.string()).default({}).describe('claims that must have this value'),
  algorithms: z
    .array(z.enum(signingAlgorithms))
    .min(1)
    .default(['RS256'])
    .describe('how tokens may be signed'),
  clockSkewMs: z.int().min(0).max(300_000).default(10_000).describe('by how much clocks may differ'),
});

export type OidcOptions = z.output<typeof oidcOptionsSchema>;
