/** One certificate of a chain. Times are ISO 8601; `days` are whole ones that are left, below 0 once it has expired. */
export interface CertificateInfo {
  readonly subject: string;
  readonly issuer: string;
  readonly 'valid-from': string;
  readonly 'valid-to': string;
  readonly days: number;
  /** SHA-256 of the certificate, in hexadecimal pairs with colons. */
  readonly fingerprint256: string;
}

/** What a TLS handshake showed: the certificate itself, and the chain that begins with it. */
export interface PeerCertificateInfo extends CertificateInfo {
  /** Host names and addresses that it is for. */
  readonly names: readonly string[];
  /** Whether it would be believed, with the TLS configuration of the appliance. */
  readonly trusted: boolean;
  readonly chain: readonly CertificateInfo[];
}
