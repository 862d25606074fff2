import type { JsonObject } from '../body-shape';

/** Device certificates and open signing requests (appliance-api.md, "Certificates"). */
export interface CertificateState {
  /** By subject common name, with the interfaces that use it. */
  readonly device: Map<string, JsonObject>;
  /** Open requests by CSR name, with the subject common name. */
  readonly csrs: Map<string, string>;
  created: number;
}

export const seedCertificates = (name: string): CertificateState => ({
  device: new Map([[`${name}.example.com`, { 'management-interface': true }]]),
  csrs: new Map(),
  created: 0,
});
