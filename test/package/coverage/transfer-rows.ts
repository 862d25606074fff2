import { result, type Row } from './row';

const BINARY = '/api/v1/system/binary-configuration';
const TEXT_TYPE = 'text/html; charset=utf-8';
/** A ZIP without files, as base64. */
const EMPTY_ZIP = 'UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA==';
const completed = result('The operation completed');

/** Configuration import and export. */
export const transferRows: readonly Row[] = [
  {
    method: 'POST',
    path: '/api/v1/system/maintenance/export-xml',
    body: { keys: 'any' },
    statuses: [200],
    content: { type: 'application/xml', text: '<configuration xmlns="urn:x"><a>1</a></configuration>' },
    operations: ['transfer.export-xml', 'backup.run', 'backup.restore'],
  },
  {
    method: 'POST',
    path: '/api/v1/system/maintenance/import-xml',
    parts: { names: ['file', 'password'], needed: 2 },
    statuses: [200],
    answer: completed,
    operations: ['transfer.import-xml', 'backup.restore'],
  },
  {
    method: 'POST',
    path: BINARY,
    query: /^(export=(system_config|user_config))?$/,
    statuses: [200],
    content: { type: TEXT_TYPE, text: EMPTY_ZIP },
    operations: ['transfer.export-binary', 'backup.run', 'backup.restore'],
  },
  {
    method: 'POST',
    path: BINARY,
    query: /^(export=(system_config|user_config))?$/,
    body: { keys: ['Password'], needed: 1 },
    statuses: [200],
    content: { type: TEXT_TYPE, text: EMPTY_ZIP },
    operations: ['transfer.export-binary'],
  },
  {
    method: 'PUT',
    path: BINARY,
    query: /^(import=(normal|full))?(&?password=[^&]+)?$/,
    textType: TEXT_TYPE,
    statuses: [200],
    answer: completed,
    operations: ['transfer.import-binary', 'backup.restore'],
  },
];
