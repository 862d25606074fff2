import { result, type Row } from './row';

const path = '/api/v1/<...>';
const query = /^[\w=&%.-]*$/;

/** Any path, for whatever has no operation of its own (field notes, "Paths beyond the description"). */
export const requestRows: readonly Row[] = [
  { method: 'GET', path, query, statuses: [200], answer: { name: 'anything' }, operations: ['request.get'] },
  { method: 'POST', path, query, body: { keys: 'any' }, statuses: [200, 201, 204], answer: result('ok'), operations: ['request.post'] },
  { method: 'PUT', path, query, body: { keys: 'any' }, statuses: [200, 204], answer: result('ok'), operations: ['request.put'] },
  { method: 'DELETE', path, query, statuses: [200, 204], answer: result('ok'), operations: ['request.delete'] },
];
