/** Matches `<appliance>_<serial number>_<UTC time>`, the common name of a backup's files and manifest. */
const BASE = String.raw`[A-Za-z0-9-][A-Za-z0-9.-]*_[A-Za-z0-9-][A-Za-z0-9.-]*_\d{8}T\d{6}\.\d{3}Z`;
const NAME = new RegExp(`^${BASE}$`);
const FILE = new RegExp(`^(${BASE})\\.(?:xml|bin)(?:\\.gz)?(?:\\.enc)?$`);
const MANIFEST = new RegExp(`^(${BASE})\\.json$`);
const CLAIM = new RegExp(`^${BASE}\\.claim$`);

/** Matches names that Windows treats as devices, whatever follows the dot. */
const WINDOWS_DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])\./i;

let lastTime = 0;

/** Returns a time that is unique in this process. `claimBackupName` handles other processes. */
export function createUniqueTimestamp(): Date {
  lastTime = Math.max(Date.now(), lastTime + 1);
  return new Date(lastTime);
}

/** Creates the name of a backup. `time` is in UTC with milliseconds, so that names sort by age. */
export function createBackupName(appliance: string, serial: string, time: Date): string {
  const stamp = time.toISOString().replaceAll(/[-:]/g, '');
  return `${toSafeName(appliance)}_${toSafeName(serial)}_${stamp}`;
}

/** Returns the backup that a file belongs to; undefined for foreign names. */
export function parseBackupFileName(name: string): string | undefined {
  return FILE.exec(name)?.[1];
}

export function parseManifestFileName(name: string): string | undefined {
  return MANIFEST.exec(name)?.[1];
}

export function isNameClaimFileName(name: string): boolean {
  return CLAIM.test(name);
}

export function isBackupName(name: string): boolean {
  return NAME.test(name);
}

/** Keeps only ASCII letters, digits, dots and dashes, which every file system allows and which are not the separator. */
function toSafeName(text: string): string {
  // Cut first, because trimming the ends takes quadratic time.
  const safeText = text
    .slice(0, 200)
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9.-]+/g, '-');
  return (safeText.replace(/^[.-]+|[.-]+$/g, '').slice(0, 60) || 'unknown').replace(WINDOWS_DEVICE, '$1-');
}
