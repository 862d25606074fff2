/**
 * Converts numeric text to numbers and `YES`/`NO` to booleans (appliance-api.md, "Health check values"; field-notes.md).
 * The value -1 stays, because it means that the appliance does not know the value.
 */
export function readHealthValue(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (/^-?\d+(\.\d+)?$/.test(value.trim())) return Number(value);
  const word = value.trim().toUpperCase();
  return word === 'YES' || word === 'TRUE' ? true : word === 'NO' || word === 'FALSE' ? false : value;
}
