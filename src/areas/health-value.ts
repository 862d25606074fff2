/**
 * Numbers come as numbers or as numeric text, switches as `YES`/`NO` (appliance-api.md, "Health check values"; field-notes.md).
 * -1 stays -1: the appliance does not know the value.
 */
export function readHealthValue(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (/^-?\d+(\.\d+)?$/.test(value.trim())) return Number(value);
  const word = value.trim().toUpperCase();
  return word === 'YES' || word === 'TRUE' ? true : word === 'NO' || word === 'FALSE' ? false : value;
}
