// What a dialog has to know of transfers before the first of them: the rest is loaded when it is needed.
export const MAINTENANCE = '/api/v1/system/maintenance';
export const BINARY = '/api/v1/system/binary-configuration';
/** `content`: check and hash; `hash`: hash only; `none`: neither, nor a wait for the disk. */
export const CHECKS = ['content', 'hash', 'none'] as const;
