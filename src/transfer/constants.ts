// Dialogs need these constants before any transfer; the other modules of this folder load on first use.
export const MAINTENANCE_PATH = '/api/v1/system/maintenance';
export const BINARY_CONFIGURATION_PATH = '/api/v1/system/binary-configuration';
/** `content` checks and hashes; `hash` only hashes; `none` does neither and does not sync the disk. */
export const VERIFICATION_LEVELS = ['content', 'hash', 'none'] as const;
