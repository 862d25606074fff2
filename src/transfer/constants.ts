// What a dialog has to know of transfers before the first of them: the rest is loaded when it is needed.
export const MAINTENANCE_PATH = '/api/v1/system/maintenance';
export const BINARY_CONFIGURATION_PATH = '/api/v1/system/binary-configuration';
/** `content`: check and hash; `hash`: hash only; `none`: neither, nor a wait for the disk. */
export const CHECK_LEVELS = ['content', 'hash', 'none'] as const;
