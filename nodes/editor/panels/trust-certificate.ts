/** The certificate that the runtime proposes to trust. */
export interface TrustProposal {
  pem: string;
  itself: boolean;
  servername?: string;
}

const findTlsSelect = (): JQuery => $('#node-config-input-tls');

/**
 * Adds a certificate to the TLS configuration of the appliance, or creates one. Returns undefined if the configuration reads its
 * certificates from files. Verification stays on.
 */
export async function trustCertificate(appliance: RedNode, trust: TrustProposal, undoSteps: (() => void)[]): Promise<string | undefined> {
  const chosen = RED.nodes.node(String(findTlsSelect().val() ?? ''));
  if (!chosen) return addTlsConfig(appliance, trust, undoSteps);
  return (await extendTlsConfig(chosen, trust, undoSteps)) ? chosen.id : undefined;
}

function addTlsConfig(appliance: RedNode, trust: TrustProposal, undoSteps: (() => void)[]): string {
  const definition = RED.nodes.getType('tls-config');
  const id = RED.nodes.id();
  const host = toHost(String($('#node-config-input-url').val() ?? ''));
  const defaults = Object.entries(definition?.defaults ?? {}).map(([name, property]) => [name, (property as { value: unknown }).value]);
  const node = {
    ...(Object.fromEntries(defaults) as object),
    ...{ id, type: 'tls-config', _def: definition, users: [], valid: true, changed: true },
    name: appliance._(trust.itself ? 'trust.name-itself' : 'trust.name', { host }),
    ...(trust.servername !== undefined && { servername: trust.servername }),
    caname: `${host}.pem`,
    verifyservercert: true,
    credentials: { certdata: '', keydata: '', cadata: trust.pem },
  };
  RED.nodes.add(node);
  RED.nodes.dirty(true);
  undoSteps.push(() => RED.nodes.remove(id));
  // Node-RED does not export the function that fills this list.
  findTlsSelect().append($('<option>').val(id).text(node.name)).val(id).trigger('change');
  return id;
}

const FILE_PROPERTIES = ['cert', 'key', 'ca', 'p12', 'certEnv', 'keyEnv', 'caEnv'];

async function extendTlsConfig(node: RedNode, trust: TrustProposal, undoSteps: (() => void)[]): Promise<boolean> {
  if (FILE_PROPERTIES.some((name) => typeof node[name] === 'string' && node[name] !== '') || node.certType === 'pfx') return false;
  const stored = node.credentials ?? (await loadStoredCredentials(node.id));
  const before = typeof stored.cadata === 'string' ? stored.cadata.trim() : '';
  const { changed, servername } = node;
  undoSteps.push(() => Object.assign(node, { credentials: stored, changed, servername }));
  node.credentials = { ...stored, cadata: [before, trust.pem].filter(Boolean).join('\n') };
  if (trust.servername !== undefined) node.servername = trust.servername;
  node.changed = true;
  RED.nodes.dirty(true);
  return true;
}

/** Loads credentials as Node-RED does when a dialog opens. */
async function loadStoredCredentials(id: string): Promise<Record<string, unknown>> {
  const stored = (await $.getJSON(`credentials/tls-config/${id}`)) as Record<string, unknown>;
  return { ...stored, _: { ...stored } };
}

function toHost(url: string): string {
  return URL.canParse(url.trim()) ? new URL(url.trim()).host : url;
}
