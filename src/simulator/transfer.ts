import { createCipheriv, createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { importConfigurationXml, writeConfigurationXml } from './configuration-xml';
import { type BodyShape, checkBody, textField } from './body-shape';
import { isTooLargeForMemory, padBinaryExport, padXmlExport } from './large-export';
import { parseMultipartForm } from './multipart';
import { type Reply, Refusal, infoReply, namedErrorReply, successReply } from './reply';
import type { ApiRequest, Router } from './router';
import type { ClusterState } from './state/cluster';
import { readZip, writeZip } from './zip';

const SYSTEM = ['administrators', 'system'];
const USER = ['authentication', 'users', 'uac'];
// The key of the appliance encrypts the secrets of a binary configuration.
const OWN_KEY = 'binary';
const BASE64_TYPE = /^text\/html\s*;\s*charset=utf-8$/i;
const NOT_EXTRACTED = 'Error - Failed to extract configuration files';

/** Import and export (appliance-api.md, rows below "System", "Binary-configuration rules" and "Limits", 3). */
async function exportXml(request: ApiRequest): Promise<Reply> {
  const { configuration, variants } = request.state;
  assertXmlSupported(request);
  const { password = '' } = request.body;
  if (typeof password !== 'string') throw new Refusal(422, 'Validation failed: password must be a string');
  const sections = variants.xmlSection === '' ? [...SYSTEM, ...USER] : [variants.xmlSection];
  await wait(variants.transferMs);
  const document = writeConfigurationXml(configuration, sections, variants.xmlNamespace, password);
  const stream = padXmlExport(document, variants.largeExport);
  return { status: 200, type: 'application/xml', ...(stream ? { stream } : { body: document }) };
}

/** Older releases have only the binary configuration (field notes, "Binary configuration"). */
function assertXmlSupported({ state, method, segments }: ApiRequest): void {
  if (!state.variants.xmlEndpoints) throw new Refusal(404, `The resource /${segments.join('/')} does not exist (${method}).`);
}

async function importXml(request: ApiRequest): Promise<Reply> {
  assertXmlSupported(request);
  if (isTooLargeForMemory(request.headers)) return enqueueImport(request, () => successReply(request.state.variants, 200));
  const form = parseMultipartForm(request.raw, request.headers['content-type']);
  for (const name of form.keys()) if (name !== 'file' && name !== 'password') throw new Refusal(400, `The form has no field ${name}`);
  const file = form.get('file');
  if (file?.filename === undefined) throw new Refusal(400, 'The form must hold the XML document as a file in its field file');
  if (request.state.variants.importNeedsPassword && !form.has('password')) throw new Refusal(400, 'The form must hold the field password');
  const password = form.get('password')?.data.toString('utf8') ?? '';
  return enqueueImport(request, () => {
    importConfigurationXml(request.state.configuration, file.data.toString('utf8'), password);
    return successReply(request.state.variants, 200);
  });
}

/** A second import starts automatically after the first. */
function enqueueImport(request: ApiRequest, work: () => Reply): Promise<Reply> {
  const { transfer, variants } = request.state;
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

const PASSWORD: BodyShape = { Password: textField };

async function exportBinary(request: ApiRequest): Promise<Reply> {
  const { configuration, variants, cluster } = request.state;
  if (request.method === 'POST' && variants.binaryExportByPost !== 200)
    throw new Refusal(variants.binaryExportByPost, 'POST is not supported on this path');
  if (request.method === 'GET' && !variants.binaryExportByGet && variants.binaryExportByPost === 200)
    throw new Refusal(variants.wrongMethodStatus, 'GET is no longer supported on this path: use POST');
  checkBody(request.body, PASSWORD);
  const kind = request.query.get('export');
  if (request.query.has('export') && kind !== 'system_config' && kind !== 'user_config')
    throw new Refusal(400, 'The query key export must be system_config or user_config');
  const files: Record<string, string> = {};
  const document = (sections: readonly string[]): string => writeConfigurationXml(configuration, sections, variants.xmlNamespace, OWN_KEY);
  if (kind !== 'user_config') Object.assign(files, { 'system.xml': document(SYSTEM), 'cluster.json': JSON.stringify(cluster ?? null) });
  if (kind !== 'system_config') files['user.xml'] = document(USER);
  await wait(variants.transferMs);
  const { Password: password } = request.body;
  const zip = encryptBinary(writeZip(files), variants.binaryPassword && typeof password === 'string' ? password : '');
  const stream = padBinaryExport(zip, variants.largeExport, variants.binaryLine);
  if (stream) return { status: 200, type: 'text/html; charset=utf-8', stream };
  const base64 = zip.toString('base64');
  const lines = base64.match(new RegExp(`.{1,${variants.binaryLine}}`, 'g')) ?? [];
  const body = `${lines.join('\n')}\n`;
  return { status: 200, type: 'text/html; charset=utf-8', body: variants.binaryCutShort ? body.slice(0, body.length >> 1) : body };
}

/** Encrypts or decrypts a binary configuration. An empty password leaves it as it is. */
function encryptBinary(content: Buffer, password: string): Buffer {
  if (password === '') return content;
  return createCipheriv('aes-256-ctr', createHash('sha256').update(password).digest(), Buffer.alloc(16)).update(content);
}

function extractConfiguration(raw: Buffer, password: string): Map<string, string> | undefined {
  const base64 = raw.toString('latin1').replace(/\s/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64) || base64.length % 4 !== 0) return undefined;
  try {
    const files = readZip(encryptBinary(Buffer.from(base64, 'base64'), password));
    return files.has('system.xml') || files.has('user.xml') ? files : undefined;
  } catch {
    return undefined;
  }
}

async function importBinary(request: ApiRequest): Promise<Reply> {
  const { state } = request;
  const mode = request.query.has('import') ? request.query.get('import') : 'normal';
  if (mode !== 'normal' && mode !== 'full') return namedErrorReply('Invalid import mode', state.variants);
  if (request.raw.length === 0) throw new Refusal(400, 'A body with the base64 text of a configuration is required');
  if (!BASE64_TYPE.test(request.headers['content-type'] ?? ''))
    throw new Refusal(400, 'The body must be sent as Content-Type: text/html; charset=utf-8');
  if (isTooLargeForMemory(request.headers))
    return enqueueImport(request, () => infoReply(state.variants, 200, 'Operation completed successfully.'));
  const files = extractConfiguration(request.raw, state.variants.binaryPassword ? (request.query.get('password') ?? '') : '');
  if (!files) return namedErrorReply(NOT_EXTRACTED, state.variants);
  return enqueueImport(request, () => {
    // `normal` leaves IP, network and cluster configuration as they are.
    for (const name of ['system.xml', 'user.xml']) {
      const document = files.get(name);
      if (document !== undefined) importConfigurationXml(state.configuration, document, OWN_KEY, mode === 'normal' ? ['network'] : []);
    }
    const cluster = files.get('cluster.json');
    if (mode === 'full' && cluster !== undefined) state.cluster = (JSON.parse(cluster) as ClusterState | null) ?? undefined;
    return infoReply(state.variants, 200, 'Operation completed successfully.');
  });
}

/** A release without the XML endpoints answers 404 to every method. */
function refuseExportByGet(request: ApiRequest): Reply {
  assertXmlSupported(request);
  throw new Refusal(request.state.variants.wrongMethodStatus, 'GET is not supported on this path');
}

export function addTransferRoutes(router: Router): void {
  router.add('GET', 'system/maintenance/export-xml', refuseExportByGet);
  router.add('POST', 'system/maintenance/export-xml', exportXml, { body: 'json' });
  router.add('POST', 'system/maintenance/import-xml', importXml, { body: 'raw' });
  router.add('POST', 'system/binary-configuration', exportBinary, { query: ['export', 'password'], body: 'optional' });
  router.add('GET', 'system/binary-configuration', exportBinary, { query: ['export', 'password'] });
  router.add('PUT', 'system/binary-configuration', importBinary, { query: ['import', 'password'], body: 'raw' });
}
