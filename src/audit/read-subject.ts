import { resolve } from 'node:path';
import { asGatewayError, badInput } from '../model/error';
import type { JsonObject } from '../model/json';
import { isObject } from '../model/json';
import { mapConcurrently } from '../model/map-concurrently';
import type { OperationContext } from '../model/operation';
import { CONFIGURATION_ROOT } from '../model/path';
import { createMessageReference } from '../snapshot/comparison-reference';
import { addCrawlToEnvelope, crawlConfiguration } from '../snapshot/crawl';
import { IgnoreRules } from '../snapshot/ignore-rules';
import { canonicalizeResource } from '../snapshot/resource';
import { isPathWithinAny } from '../snapshot/resource-path';
import { SnapshotFolder } from '../snapshot/snapshot-folder';
import { readSnapshotOrigin } from '../snapshot/take';
import { findWeakSecret, isRadiusOrSnmpClient } from './access-rules';
import type { ApplianceStatusData } from './audit-rule';
import { describeCertificateWeakness } from './certificate-strength';

/** The configuration to audit, and the status of the appliance. */
interface AuditSource {
  readonly appliance: string;
  readonly release: string | null;
  readonly serialNumber: string | null;
  readonly resources: ReadonlyMap<string, JsonObject>;
  readonly weakSecrets: ReadonlyMap<string, string>;
  readonly live: ApplianceStatusData;
  readonly unreadable: ReadonlySet<string>;
  /** Path that the configuration starts at. */
  readonly root: string;
  readonly isPart: boolean;
  /** Whether this is an appliance and not a snapshot, which has masked secrets and no status. */
  readonly isAppliance: boolean;
}

const NO_PATHS: ReadonlySet<string> = new Set();

const FILE_CONCURRENCY = 32;
/** Errors that leave a fact unknown: the appliance does not have the feature, or the account may not read it. */
const UNKNOWN_FACT_CODES = ['FORBIDDEN', 'NOT_FOUND', 'REJECTED', 'BAD_RESPONSE'];

/** Reads the configuration of the appliance and its state. Errors: those of a read. */
async function readApplianceToAudit(call: OperationContext): Promise<AuditSource> {
  const ignore = new IgnoreRules();
  const origin = await readSnapshotOrigin(call, CONFIGURATION_ROOT);
  const resources = new Map<string, JsonObject>();
  const weakSecrets = new Map<string, string>();
  const onResource = (path: string, resource: JsonObject): Promise<void> => {
    const secret = isRadiusOrSnmpClient(path) ? findWeakSecret(resource) : undefined;
    if (secret !== undefined) weakSecrets.set(path, secret);
    resources.set(path, canonicalizeResource(resource));
    return Promise.resolve();
  };
  const crawlResult = await crawlConfiguration({ root: CONFIGURATION_ROOT, ignore, onResource }, call);
  for (const path of resources.keys()) if (isPathWithinAny(path, crawlResult.vanished)) resources.delete(path);
  addCrawlToEnvelope(crawlResult, call);
  return {
    appliance: origin.appliance,
    release: origin.release,
    serialNumber: origin['serial-number'],
    resources,
    weakSecrets,
    live: await readLiveFacts(call),
    unreadable: crawlResult.forbidden,
    root: CONFIGURATION_ROOT,
    isPart: false,
    isAppliance: true,
  };
}

/** Reads a snapshot in a folder. Errors: `BAD_INPUT`. */
async function readFolderToAudit(folderPath: string): Promise<AuditSource> {
  const folder = await SnapshotFolder.openExisting(resolve(folderPath));
  const { appliance, release, 'serial-number': serialNumber, path } = folder.manifest;
  const entries = await folder.entries(path);
  const resources = new Map<string, JsonObject>();
  await mapConcurrently(entries, FILE_CONCURRENCY, async ([resourcePath, names]) => {
    resources.set(resourcePath, await folder.read(names));
  });
  return {
    appliance,
    release,
    serialNumber,
    resources,
    weakSecrets: new Map(),
    live: {},
    unreadable: NO_PATHS,
    root: path,
    isPart: path !== CONFIGURATION_ROOT,
    isAppliance: false,
  };
}

/** Reads a snapshot in a message. Errors: `BAD_INPUT`. */
function readMessageToAudit(snapshot: JsonObject): AuditSource {
  const { path } = createMessageReference(snapshot, 'snapshot');
  const { appliance, release, 'serial-number': serialNumber, resources } = snapshot;
  const found = new Map<string, JsonObject>();
  for (const [path, resource] of Object.entries(isObject(resources) ? resources : {})) if (isObject(resource)) found.set(path, resource);
  return {
    appliance: String(appliance),
    release: typeof release === 'string' ? release : null,
    serialNumber: typeof serialNumber === 'string' ? serialNumber : null,
    resources: found,
    weakSecrets: new Map(),
    live: {},
    unreadable: NO_PATHS,
    root: path,
    isPart: path !== CONFIGURATION_ROOT,
    isAppliance: false,
  };
}

/** Reads the source that the input names. Errors: `BAD_INPUT`. */
export async function readAuditSource(
  { source, folder, snapshot }: { source: string; folder?: string | undefined; snapshot?: JsonObject | undefined },
  call: OperationContext,
): Promise<AuditSource> {
  if (source === 'folder') {
    if (folder === undefined || folder.trim() === '')
      throw badInput('folder is missing. Enter the folder of a snapshot, or use another source.');
    return readFolderToAudit(folder);
  }
  if (source === 'message') {
    if (snapshot === undefined) throw badInput('snapshot is missing. Send the result of Take a snapshot, or use another source.');
    return readMessageToAudit(snapshot);
  }
  return readApplianceToAudit(call);
}

async function readLiveFacts(call: OperationContext): Promise<ApplianceStatusData> {
  const read = (path: string, query?: Record<string, string>): Promise<JsonObject | undefined> =>
    readFact(() => call.read({ method: 'GET', path, ...(query && { query }) }, { isLookup: true }));
  const [health, cluster, leases, certificate] = await Promise.all([
    read('/api/v1/system/healthcheck', { status: 'all' }),
    read('/api/v1/cluster'),
    read('/api/v1/license/license-server-lease-information'),
    call.settings.base.startsWith('https:') ? readFact(() => readServedCertificate(call)) : undefined,
  ]);
  return {
    health,
    cluster,
    leases,
    certificate,
    realm: call.settings.realm,
  };
}

async function readServedCertificate(call: OperationContext): Promise<JsonObject> {
  const certificate = await call.readPeerCertificate();
  const end = Date.parse(certificate.validTo);
  const weakness = describeCertificateWeakness(certificate);
  return {
    subject: certificate.subject.split('\n').join(', '),
    ...(!Number.isNaN(end) && { 'valid-to': new Date(end).toISOString() }),
    ...(weakness !== undefined && { weakness }),
  };
}

async function readFact<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (thrown) {
    if (UNKNOWN_FACT_CODES.includes(asGatewayError(thrown).requestCode ?? '')) return undefined;
    throw thrown;
  }
}
