export {
  CertificateAuthority,
  type CertificateAuthorityOptions,
  type CertificateRequest,
  type CertificateUsage,
  type IssuedCertificate,
  type KeyAlgorithm,
} from './certificate-authority.ts';
