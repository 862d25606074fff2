import {
  defineArea,
  booleanField,
  choiceField,
  listField,
  numberField,
  defineOperation,
  requiredField,
  payloadField,
  textField,
} from '../model/operation';

// Loaded on first use, so that Node-RED starts faster.
const loadBackup = () => import('../backup/index.js');

const folderField = requiredField(
  textField('Folder', 'Folder of the backups, on the machine that runs Node-RED. It must exist.', {
    guard: true,
    editor: 'folder',
    example: '/var/backups/gateway',
    check: (path) => (path.trim() === '' ? 'is blank.' : undefined),
  }),
);
// Guards: otherwise a webhook could encrypt the backups with a secret that the owner does not know.
const passwordField = textField(
  'Password',
  'Encrypts the secrets in an XML export, and a binary export of releases 22.7R2.3 to 22.8R2.2. Restoring needs the same.',
  {
    secret: true,
    guard: true,
  },
);
const passphraseField = textField(
  'Passphrase',
  'Encrypts the file itself, in the format of `openssl enc`. Restoring and checking need the same passphrase, and then accept only files made with it.',
  {
    secret: true,
    guard: true,
    check: (value) => (value === '' ? 'is empty.' : undefined),
  },
);
const EXAMPLE_REQUEST = 'GET /api/v1/system/system-information';

/** Makes, lists, checks and restores backups in a folder (contract, section 5). */
export const backupArea = defineArea({
  name: 'backup',
  label: 'Gateway backup',
  help: 'Makes backups of the configuration in a folder, lists, checks and restores them.',
  icon: 'gateway-backup.svg',
  color: '#56E1E6',
  operations: {
    run: defineOperation({
      effect: 'read',
      permissions: { reads: 'system information; export of the whole configuration, by POST' },
      label: 'Make a backup',
      help: 'Exports the configuration, checks that it is complete, and stores it with a manifest; a failure leaves earlier backups unchanged. `changed` shows whether the configuration differs from the last good backup.',
      summary: { done: 'Made the backup __backup__ of __appliance__.' },
      data: '`{ backup, folder, appliance, serial-number, release, time, changed, previous, bytes, files, manifest, rotated, cleaned }`',
      fields: {
        folder: folderField,
        what: choiceField('What', 'XML, the binary configuration, or both.', ['xml', 'binary', 'both'], { guard: true, default: 'xml' }),
        keep: numberField('Keep', 'Number of backups to keep; the oldest are deleted. The last good one always stays.', {
          guard: true,
          range: 'count',
        }),
        'keep-days': numberField('Keep days', 'Backups older than this are deleted. The last good one always stays.', {
          guard: true,
          range: 'positive',
        }),
        gzip: booleanField('Compress', 'Compresses the files (gzip).', { guard: true, default: false }),
        passphrase: passphraseField,
        password: passwordField,
        ignore: listField('Ignore', 'Names of XML elements that do not count as a change, in addition to times and encrypted secrets.', {
          guard: true,
        }),
      },
      run: async (input, call) => (await loadBackup()).runBackup(input, call),
      example: { input: { folder: '/var/tmp', keep: 30 }, request: EXAMPLE_REQUEST },
    }),
    list: defineOperation({
      effect: 'read',
      permissions: { reads: 'nothing: only the folder' },
      label: 'List backups',
      help: 'Lists the backups in the folder, the newest first. No request is sent to the appliance.',
      summary: { found: '__n__ backups.', 'found-one': '1 backup.' },
      data: 'array of `{ backup, folder, appliance, serial-number, release, time, bytes, files }`',
      fields: { folder: folderField },
      run: async ({ folder: folderPath }) => (await loadBackup()).listBackups(folderPath),
      example: { input: { folder: '/var/tmp' }, request: '' },
    }),
    verify: defineOperation({
      effect: 'read',
      permissions: { reads: 'nothing: only the folder' },
      label: 'Check backups',
      help: 'Checks that one backup, or each backup in the folder, is complete and, with a passphrase, was made with it. Without the passphrase, encrypted backups are checked only by their hash.',
      summary: { many: '__ok__ of __total__ backups are complete', none: 'There is no backup to check.' },
      data: 'a result for each item',
      fields: {
        folder: folderField,
        backup: payloadField(
          textField('Backup', 'Name of a backup or of one of its files, or `latest`. Empty: all in the folder.', { names: 'backup' }),
        ),
        passphrase: passphraseField,
      },
      run: async (input, call) => (await loadBackup()).verifyBackups(input, call),
      example: { input: { folder: '/var/tmp' }, request: '' },
    }),
    restore: defineOperation({
      effect: 'destroy',
      permissions: { reads: 'system information; export, for the backup before the restore', writes: 'import of the whole configuration' },
      label: 'Restore a backup',
      help: 'Checks that a backup is complete and from this appliance, makes a fresh backup, and imports the old one. With a passphrase, the node restores only a backup that was made with this passphrase.',
      summary: {
        done: 'Restored the backup __backup__ on __appliance__.',
        'planned-one': 'Would restore the backup __backup__ on __appliance__.',
      },
      data: 'result',
      fields: {
        folder: folderField,
        backup: payloadField(
          requiredField(
            textField('Backup', 'Name of the backup or of one of its files, or `latest`: the newest of this appliance.', {
              example: 'latest',
              names: 'backup',
            }),
          ),
        ),
        kind: choiceField('Kind', 'Which file of the backup to import. Empty: XML if there is one.', ['xml', 'binary'], { guard: true }),
        import: choiceField(
          'Mode',
          'For binary: `normal` leaves IP, network and cluster configuration unchanged, `full` replaces everything.',
          ['normal', 'full'],
          {
            guard: true,
          },
        ),
        'backup-first': booleanField('Backup first', 'Makes a fresh backup before the import.', { guard: true, default: true }),
        'any-appliance': booleanField('Any appliance', 'Also restores a backup of an appliance with another serial number.', {
          guard: true,
          default: false,
        }),
        password: passwordField,
        passphrase: passphraseField,
      },
      run: async (input, call) => (await loadBackup()).restoreBackup(input, call),
      example: { input: { folder: '/var/tmp', backup: 'latest' }, request: EXAMPLE_REQUEST },
    }),
  },
});
