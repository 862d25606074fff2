import { defineArea, choiceField, dataField, objectField, defineOperation, payloadField, textField } from '../model/operation';
import { BINARY_CONFIGURATION_PATH, VERIFICATION_LEVELS, MAINTENANCE_PATH } from '../transfer/constants';

// Loaded on first use, so that Node-RED starts faster.
const loadExport = () => import('../transfer/export.js');
const loadImport = () => import('../transfer/import.js');

const toFileField = textField(
  'File',
  'Path of a file to write instead of the message. It appears, or changes, only when the export is complete.',
  {
    guard: true,
    check: notBlank,
  },
);
const fromFileField = textField('File', 'Path of a file to send instead of the message.', { guard: true, check: notBlank });
const checkField = choiceField(
  'Check',
  'How to check the export while it streams: `content` checks and hashes it, `hash` only hashes it, `none` does neither and is fastest.',
  VERIFICATION_LEVELS,
  { guard: true, default: 'content' },
);

/** Configuration import and export (appliance-api.md, rows below "System" and "Binary-configuration rules"). */
export const transferArea = defineArea({
  name: 'transfer',
  label: 'Gateway transfer',
  help: 'Exports and imports the configuration, as XML or binary, from and to messages or files.',
  icon: 'gateway-transfer.svg',
  color: '#58BBB1',
  operations: {
    'export-xml': defineOperation({
      effect: 'read',
      permissions: { reads: 'export of the whole configuration, by POST' },
      label: 'Export XML',
      help: 'Exports the configuration as an XML document and checks that it is complete: `msg.envelope.verified` is then `xml`.',
      summary: { done: 'Exported the configuration of __appliance__ as XML.' },
      data: 'the XML (Buffer), or with File `{ file, bytes, sha256 }`',
      fields: {
        password: textField('Password', 'Encrypts the secrets in the document; the import needs the same password.', { secret: true }),
        options: objectField('Options', 'Other attributes of the export, sent unchanged.', { guard: true }),
        file: toFileField,
        check: checkField,
      },
      run: async (input, call) => {
        const { exportConfiguration } = await loadExport();
        const { password, options } = input;
        const body = { ...options, ...(password !== undefined && { password }) };
        return exportConfiguration('xml', { method: 'POST', path: `${MAINTENANCE_PATH}/export-xml`, body }, input, call);
      },
      example: {
        input: { password: 'correct horse' },
        request: `POST ${MAINTENANCE_PATH}/export-xml`,
        body: { password: 'correct horse' },
      },
    }),
    'import-xml': defineOperation({
      effect: 'destroy',
      permissions: { writes: 'import of the whole configuration' },
      label: 'Import XML',
      help: 'Imports an XML document, which replaces the same parts of the configuration. Imports to one appliance run one after the other, and none is sent twice.',
      summary: {
        done: 'Imported an XML configuration into __appliance__.',
        'planned-one': 'Would import an XML configuration into __appliance__.',
      },
      data: 'result',
      fields: {
        xml: payloadField(dataField('XML', 'The document: a Buffer or text. Or give File.', { example: '<configuration/>' })),
        file: fromFileField,
        password: textField('Password', 'The password of the export.', { secret: true }),
      },
      run: async ({ xml, file, password }, call) => {
        const { importXml, createConfigurationSource } = await loadImport();
        return importXml(createConfigurationSource('xml', xml, file), password, call);
      },
      example: { input: { xml: '<configuration/>' }, request: `POST ${MAINTENANCE_PATH}/import-xml` },
    }),
    'export-binary': defineOperation({
      effect: 'read',
      permissions: { reads: 'export of the whole configuration, by POST' },
      label: 'Export binary',
      help: 'Exports the binary configuration as base64 text and checks that it is complete: `msg.envelope.verified` is then `zip`, or `base64` if a password encrypts it.',
      summary: { done: 'Exported the binary configuration of __appliance__.' },
      data: 'the base64 text (Buffer), or with File `{ file, bytes, sha256 }`',
      fields: {
        export: choiceField('What', 'The part to export. Empty: system and user configuration together.', ['system_config', 'user_config']),
        password: textField('Password', 'Protects the export. It is sent in the body, never in the URL.', { secret: true }),
        file: toFileField,
        check: checkField,
      },
      run: async (input, call) => {
        const { exportConfiguration } = await loadExport();
        const { export: part, password } = input;
        const options = { ...(part && { query: { export: part } }), ...(password !== undefined && { body: { Password: password } }) };
        return exportConfiguration('binary', { method: 'POST', path: BINARY_CONFIGURATION_PATH, ...options }, input, call);
      },
      example: {
        input: { export: 'system_config', password: 'correct horse' },
        request: `POST ${BINARY_CONFIGURATION_PATH}?export=system_config`,
        body: { Password: 'correct horse' },
      },
    }),
    'import-binary': defineOperation({
      effect: 'destroy',
      permissions: { writes: 'import of the whole configuration' },
      label: 'Import binary',
      help: 'Imports a binary configuration. `normal` leaves IP, network and cluster configuration unchanged, `full` replaces everything.',
      summary: {
        done: 'Imported a binary configuration into __appliance__.',
        'planned-one': 'Would import a binary configuration into __appliance__.',
      },
      data: 'result',
      fields: {
        data: payloadField(
          dataField('Data', 'The base64 text of an export: a Buffer or text, with or without line breaks. Or give File.', {
            example: 'UEsDBA==',
          }),
        ),
        file: fromFileField,
        import: choiceField('Mode', 'What to import. Empty: the appliance uses `normal`.', ['normal', 'full'], {
          guard: true,
        }),
        password: textField(
          'Password',
          'The password of the export. It is sent in the URL, and only releases 22.7R2.3 to 22.8R2.2 are known to read it.',
          { secret: true },
        ),
      },
      run: async ({ data: text, file, import: mode, password }, call) => {
        const { importBinary, createConfigurationSource } = await loadImport();
        return importBinary(createConfigurationSource('data', text, file), { mode, password }, call);
      },
      example: { input: { data: 'UEsDBA==', import: 'normal' }, request: `PUT ${BINARY_CONFIGURATION_PATH}?import=normal` },
    }),
  },
});

function notBlank(path: string): string | undefined {
  return path.trim() === '' ? 'is blank.' : undefined;
}
