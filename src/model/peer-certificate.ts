/** One certificate of a chain. Times are ISO 8601; `days` counts whole days left and is negative after expiry. */
export interface CertificateInfo {
  readonly subject: string;
  readonly issuer: string;
  readonly 'valid-from': string;
  readonly 'valid-to': string;
  readonly days: number;
  /** SHA-256 of the certificate, in hexadecimal pairs with colons. */
  readonly fingerprint256: string;
}

/** The certificate of a TLS handshake and the chain that begins with it. */
export interface PeerCertificateInfo extends CertificateInfo {
  /** Host names and addresses in the certificate. */
  readonly names: readonly string[];
  /** Whether the TLS configuration of the appliance trusts it. */
  readonly trusted: boolean;
  readonly chain: readonly CertificateInfo[];
}
