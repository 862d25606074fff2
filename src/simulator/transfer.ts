import { setTimeout as wait } from 'node:timers/promises';
import { readDocument, writeDocument } from './document';
import { type Shape, checkBody, text } from './fields';
import { isTooLargeToHold, largeBinary, largeXml } from './large';
import { readForm } from './multipart';
import { type Reply, Refusal, info, namedError, written } from './reply';
import type { Call, Router } from './router';
import type { ClusterState } from './state/cluster';
import { readZip, writeZip } from './zip';

const SYSTEM = ['administrators', 'system'];
const USER = ['authentication', 'users', 'uac'];
// The binary form has no field for a password at import, so its secrets are bound to the appliance's own key.
const OWN_KEY = 'binary';
const BASE64_TYPE = /^text\/html\s*;\s*charset=utf-8$/i;
const NOT_EXTRACTED = 'Error - Failed to extract configuration files';

/** Import and export (appliance-api.md, rows below "System", "Binary-configuration rules" and "Limits", 3). */
async function exportXml(call: Call): Promise<Reply> {
  const { configuration, variants } = call.state;
  refuseWithoutXml(call);
  const { password = '' } = call.body;
  if (typeof password !== 'string') throw new Refusal(422, 'Validation failed: password must be a string');
  const sections = variants.xmlSection === '' ? [...SYSTEM, ...USER] : [variants.xmlSection];
  await wait(variants.transferMs);
  const document = writeDocument(configuration, sections, variants.xmlNamespace, password);
  const stream = largeXml(document, variants.largeExport);
  return { status: 200, type: 'application/xml', ...(stream ? { stream } : { body: document }) };
}

/** Older releases know the binary configuration alone (field notes, "Binary configuration"). */
function refuseWithoutXml({ state, method, segments }: Call): void {
  if (!state.variants.xmlEndpoints) throw new Refusal(404, `The resource /${segments.join('/')} does not exist (${method}).`);
}

async function importXml(call: Call): Promise<Reply> {
  refuseWithoutXml(call);
  if (isTooLargeToHold(call.headers)) return queued(call, () => written(call.state.variants, 200));
  const form = readForm(call.raw, call.headers['content-type']);
  for (const name of form.keys()) if (name !== 'file' && name !== 'password') throw new Refusal(400, `The form has no field ${name}`);
  const file = form.get('file');
  if (file?.filename === undefined) throw new Refusal(400, 'The form must hold the XML document as a file in its field file');
  if (call.state.variants.importNeedsPassword && !form.has('password')) throw new Refusal(400, 'The form must hold the field password');
  const password = form.get('password')?.data.toString('utf8') ?? '';
  return queued(call, () => {
    readDocument(call.state.configuration, file.data.toString('utf8'), password);
    return written(call.state.variants, 200);
  });
}

/** A second import waits until the first is done and starts by itself. */
function queued(call: Call, work: () => Reply): Promise<Reply> {
  const { transfer, variants } = call.state;
  const run = async (): Promise<Reply> => {
    transfer.waiting--;
    transfer.running++;
    try {
      await wait(variants.transferMs);
      return work();
    } finally {
      transfer.running--;
    }
  };
  transfer.waiting++;
  const result = transfer.queue.then(run);
  transfer.queue = result.catch(() => undefined);
  return result;
}

const PASSWORD: Shape = { Password: text };

async function exportBinary(call: Call): Promise<Reply> {
  const { configuration, variants, cluster } = call.state;
  if (call.method === 'POST' && variants.binaryExportByPost !== 200)
    throw new Refusal(variants.binaryExportByPost, 'POST is not supported on this path');
  if (call.method === 'GET' && !variants.binaryExportByGet && variants.binaryExportByPost === 200)
    throw new Refusal(variants.wrongMethodStatus, 'GET is no longer supported on this path: use POST');
  checkBody(call.body, PASSWORD);
  const kind = call.query.get('export');
  if (call.query.has('export') && kind !== 'system_config' && kind !== 'user_config')
    throw new Refusal(400, 'The query key export must be system_config or user_config');
  const files: Record<string, string> = {};
  const document = (sections: readonly string[]): string => writeDocument(configuration, sections, variants.xmlNamespace, OWN_KEY);
  if (kind !== 'user_config') Object.assign(files, { 'system.xml': document(SYSTEM), 'cluster.json': JSON.stringify(cluster ?? null) });
  if (kind !== 'system_config') files['user.xml'] = document(USER);
  await wait(variants.transferMs);
  const zip = writeZip(files);
  const stream = largeBinary(zip, variants.largeExport, variants.binaryLine);
  if (stream) return { status: 200, type: 'text/html; charset=utf-8', stream };
  const base64 = zip.toString('base64');
  const lines = base64.match(new RegExp(`.{1,${variants.binaryLine}}`, 'g')) ?? [];
  const body = `${lines.join('\n')}\n`;
  return { status: 200, type: 'text/html; charset=utf-8', body: variants.binaryCutShort ? body.slice(0, body.length >> 1) : body };
}

function extract(raw: Buffer): Map<string, string> | undefined {
  const base64 = raw.toString('latin1').replace(/\s/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64) || base64.length % 4 !== 0) return undefined;
  try {
    const files = readZip(Buffer.from(base64, 'base64'));
    return files.has('system.xml') || files.has('user.xml') ? files : undefined;
  } catch {
    return undefined;
  }
}

async function importBinary(call: Call): Promise<Reply> {
  const { state } = call;
  const mode = call.query.has('import') ? call.query.get('import') : 'normal';
  if (mode !== 'normal' && mode !== 'full') return namedError('Invalid import mode', state.variants);
  if (call.raw.length === 0) throw new Refusal(400, 'A body with the base64 text of a configuration is required');
  if (!BASE64_TYPE.test(call.headers['content-type'] ?? ''))
    throw new Refusal(400, 'The body must be sent as Content-Type: text/html; charset=utf-8');
  if (isTooLargeToHold(call.headers)) return queued(call, () => info(state.variants, 200, 'Operation completed successfully.'));
  const files = extract(call.raw);
  if (!files) return namedError(NOT_EXTRACTED, state.variants);
  return queued(call, () => {
    // `normal` leaves IP, network and cluster configuration as they are.
    for (const name of ['system.xml', 'user.xml']) {
      const document = files.get(name);
      if (document !== undefined) readDocument(state.configuration, document, OWN_KEY, mode === 'normal' ? ['network'] : []);
    }
    const cluster = files.get('cluster.json');
    if (mode === 'full' && cluster !== undefined) state.cluster = (JSON.parse(cluster) as ClusterState | null) ?? undefined;
    return info(state.variants, 200, 'Operation completed successfully.');
  });
}

export function transferRoutes(router: Router): void {
  router.add('POST', 'system/maintenance/export-xml', exportXml, { body: 'json' });
  router.add('POST', 'system/maintenance/import-xml', importXml, { body: 'raw' });
  router.add('POST', 'system/binary-configuration', exportBinary, { query: ['export', 'password'], body: 'optional' });
  router.add('GET', 'system/binary-configuration', exportBinary, { query: ['export', 'password'] });
  router.add('PUT', 'system/binary-configuration', importBinary, { query: ['import'], body: 'raw' });
}
