import {
  defineArea,
  booleanField,
  choiceField,
  listField,
  numberField,
  defineOperation,
  requiredField,
  subjectField,
  textField,
} from '../model/operation';

// Loaded by the first backup, not by every start of Node-RED.
const loadBackup = () => import('../backup/index.js');

const folderField = requiredField(
  textField('Folder', 'Folder of the backups, on the machine that runs Node-RED. It has to be there.', {
    guard: true,
    example: '/var/backups/gateway',
    check: (path) => (path.trim() === '' ? 'is blank.' : undefined),
  }),
);
// Guards: what a webhook sends must not lock the backups of this machine with a secret that nobody here has.
const passwordField = textField('Password', 'Encrypts the secrets in an XML export; restoring it needs the same.', {
  secret: true,
  guard: true,
});
const passphraseField = textField(
  'Passphrase',
  'Encrypts the file itself, in the format of `openssl enc`. Restoring and checking need the same, and with it take only what it made.',
  {
    secret: true,
    guard: true,
    check: (value) => (value === '' ? 'is empty.' : undefined),
  },
);
const EXAMPLE_REQUEST = 'GET /api/v1/system/system-information';

/** Backups in a folder: made of exports, checked, rotated, and imported again. */
export const backupArea = defineArea({
  name: 'backup',
  label: 'Gateway backup',
  help: 'Makes backups of the configuration in a folder, lists, checks and restores them.',
  icon: 'gateway-backup.svg',
  color: '#56E1E6',
  operations: {
    run: defineOperation({
      effect: 'read',
      label: 'Make a backup',
      help: 'Exports the configuration, checks that it is whole, and stores it with a manifest; a failure leaves the earlier backups as they are. `changed` tells whether the configuration differs from the last good backup.',
      summary: { done: 'Made a backup.' },
      data: '`{ backup, folder, appliance, serial-number, release, time, changed, previous, bytes, files, manifest, rotated, cleaned }`',
      fields: {
        folder: folderField,
        what: choiceField('What', 'XML, the binary configuration, or both.', ['xml', 'binary', 'both'], { guard: true, default: 'xml' }),
        keep: numberField('Keep', 'So many backups stay; the oldest go. The last good one always stays.', { guard: true, range: 'count' }),
        'keep-days': numberField('Keep days', 'Backups that are older go. The last good one always stays.', {
          guard: true,
          range: 'positive',
        }),
        gzip: booleanField('Compress', 'Compresses the files (gzip).', { guard: true, default: false }),
        passphrase: passphraseField,
        password: passwordField,
        ignore: listField('Ignore', 'Names of XML elements that do not count as a change, beside times and encrypted secrets.', {
          guard: true,
        }),
      },
      run: async (input, call) => (await loadBackup()).runBackup(input, call),
      example: { input: { folder: '/var/tmp', keep: 30 }, request: EXAMPLE_REQUEST },
    }),
    list: defineOperation({
      effect: 'read',
      label: 'List backups',
      help: 'The backups in the folder, the newest first. Nothing is asked of the appliance.',
      summary: { found: '__n__ backups.', 'found-one': '1 backup.' },
      data: 'array of `{ backup, folder, appliance, serial-number, release, time, bytes, files }`',
      fields: { folder: folderField },
      run: async ({ folder: folderPath }) => (await loadBackup()).listBackups(folderPath),
      example: { input: { folder: '/var/tmp' }, request: '' },
    }),
    verify: defineOperation({
      effect: 'read',
      label: 'Check backups',
      help: 'Reads one backup again, or all in the folder, and checks that they are whole and, with a passphrase, that it made them. Encrypted ones without the passphrase are checked by their hash only.',
      summary: { many: '__ok__ of __total__ backups are whole', none: 'There is no backup to check.' },
      data: 'many',
      fields: {
        folder: folderField,
        backup: subjectField(
          textField('Backup', 'Name of a backup or of one of its files, or `latest`. Nothing: all in the folder.', { names: 'backup' }),
        ),
        passphrase: passphraseField,
      },
      run: async (input, call) => (await loadBackup()).verifyBackups(input, call),
      example: { input: { folder: '/var/tmp' }, request: '' },
    }),
    restore: defineOperation({
      effect: 'destroy',
      label: 'Restore a backup',
      help: 'Imports a backup, after it was checked and found to be of this appliance, and after a fresh backup was made. With a passphrase, only one that it made.',
      summary: { done: 'Restored the backup __backup__.', 'planned-one': 'Would restore the backup __backup__.' },
      data: 'result',
      fields: {
        folder: folderField,
        backup: subjectField(
          requiredField(
            textField('Backup', 'Name of the backup or of one of its files, or `latest`: the newest of this appliance.', {
              example: 'latest',
              names: 'backup',
            }),
          ),
        ),
        kind: choiceField('Kind', 'Which of its files. Nothing chosen: XML where there is one.', ['xml', 'binary'], { guard: true }),
        import: choiceField(
          'Mode',
          'For binary: `normal` leaves IP, network and cluster configuration as they are, `full` replaces everything.',
          ['normal', 'full'],
          {
            guard: true,
          },
        ),
        'backup-first': booleanField('Backup first', 'Makes a fresh backup before.', { guard: true, default: true }),
        'any-appliance': booleanField('Any appliance', 'Restores it although its serial number is that of another appliance.', {
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
