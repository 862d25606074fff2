import { coordinationKey } from '../model/coordination';

/** The one that is kept out at, as it stands in files: its address is nobody's business. */
export function toApplianceHash(baseUrl: string): string {
  return coordinationKey('contain', baseUrl.toLowerCase());
}
