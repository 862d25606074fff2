/** Short causes of errors, which nodes show as their status. Each has at most 20 characters. */
export const ERROR_REASONS = {
  'folder-missing': 'folder missing',
  'not-a-folder': 'not a folder',
  'no-file-access': 'no file access',
  'file-not-read': 'file not readable',
  'file-not-written': 'file not writable',
  'disk-full': 'disk full',
  'journal-not-writable': 'journal not writable',
  'journal-missing': 'no journal folder',
  'other-appliance': 'other appliance',
  'identity-unknown': 'identity unknown',
  'not-permitted': 'not permitted',
  'credentials-missing': 'credentials missing',
  'variable-not-set': 'variable not set',
  'no-appliance': 'no appliance chosen',
  'unknown-appliance': 'unknown appliance',
  'unknown-operation': 'unknown operation',
  'unknown-field': 'unknown field',
  'too-deep': 'nested too deeply',
} as const;

export type ErrorReason = keyof typeof ERROR_REASONS;
