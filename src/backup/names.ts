/** Names of backups in a folder: `<appliance>_<serial number>_<UTC time>`, the same for its files and its manifest. */
const BASE = String.raw`[A-Za-z0-9-][A-Za-z0-9.-]*_[A-Za-z0-9-][A-Za-z0-9.-]*_\d{8}T\d{6}\.\d{3}Z`;
const NAME = new RegExp(`^${BASE}$`);
const FILE = new RegExp(`^(${BASE})\\.(?:xml|bin)(?:\\.gz)?(?:\\.enc)?$`);
const MANIFEST = new RegExp(`^(${BASE})\\.json$`);
const CLAIM = new RegExp(`^${BASE}\\.claim$`);

/** What Windows takes for a device, whatever stands behind the dot. */
const WINDOWS_DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])\./i;

let lastTime = 0;

/** Never the same twice in one process: two messages may come in the same millisecond. `claimName` sees to other processes. */
export function nextUniqueTime(): Date {
  lastTime = Math.max(Date.now(), lastTime + 1);
  return new Date(lastTime);
}

/** `time` in UTC to the millisecond, so that names sort by age. */
export function createBackupName(appliance: string, serial: string, time: Date): string {
  const stamp = time.toISOString().replaceAll(/[-:]/g, '');
  return `${toSafeName(appliance)}_${toSafeName(serial)}_${stamp}`;
}

/** The backup that a file or manifest with that name belongs to; undefined for names that are not ours. */
export function parseBackupFileName(name: string): string | undefined {
  return FILE.exec(name)?.[1];
}

export function parseManifestFileName(name: string): string | undefined {
  return MANIFEST.exec(name)?.[1];
}

export function isClaimFileName(name: string): boolean {
  return CLAIM.test(name);
}

export function isBackupName(name: string): boolean {
  return NAME.test(name);
}

/** Only letters and digits of ASCII, dots and dashes: good on every file system, and no separator of ours. */
function toSafeName(text: string): string {
  // Cut first: nobody's word is worth more, and the ends are looked for in time that grows with the square.
  const safeText = text
    .slice(0, 200)
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9.-]+/g, '-');
  return (safeText.replace(/^[.-]+|[.-]+$/g, '').slice(0, 60) || 'unknown').replace(WINDOWS_DEVICE, '$1-');
}
