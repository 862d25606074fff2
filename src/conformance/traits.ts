import type { VariantValue } from './profile';

/** One way in which appliances differ, for the report. */
interface ApplianceTrait {
  /** What the check asks. */
  readonly question: string;
  /** The documented behavior. */
  readonly usual: VariantValue;
  /** What a difference means for flows. */
  readonly meaning: string;
  /** True if only a check with writes can find it. */
  readonly needsWrites?: true;
}

const HANDLED = 'The nodes handle it.';
const trait = (question: string, usual: VariantValue, meaning = HANDLED): ApplianceTrait => ({ question, usual, meaning });
const written = (question: string, usual: VariantValue, meaning = HANDLED): ApplianceTrait => ({
  question,
  usual,
  meaning,
  needsWrites: true,
});

/** Traits by the name of the simulator variant. */
export const APPLIANCE_TRAITS: Readonly<Record<string, ApplianceTrait>> = {
  legacyLogin: trait('Methods of the login without a realm', 'post', 'Choose the login by realm if it is unsupported.'),
  restAccess: trait('The account may use the REST interface', true, 'No operation works. Allow REST access for the account.'),
  loginAnswer: trait('What the login answers', 'key', 'No operation works. Check the URL and that the realm allows REST access.'),
  restarting: trait('The REST server answers every request with 500', false, 'It restarts, or it does not work. Try again later.'),
  deadKeyStatus: trait('Status for a key that is not valid', 401),
  wrongPasswordStatus: written('Status of a refused login', 401),
  startCountsFrom: trait('Number of the first session in a page', 1, 'sessions.list reads each session once in both cases.'),
  ignoresStart: trait('The query key start is ignored', false, 'sessions.list reads long lists as one page.'),
  clipAt200: trait('A page has at most 200 sessions', true),
  isLastRecord: trait('Place of the last-record flag', 'inside', 'sessions.list also uses the totals.'),
  isLastRecordSpelling: trait('Spelling of the last-record flag', 'is-last-record'),
  totals: trait('Totals of sessions are numbers or text', 'number'),
  noRecords: trait('An empty list of sessions', 'empty'),
  nullKeys: trait('Keys without a value', 'null', 'A flow must expect null, a missing key, or both.'),
  nameFilter: trait('How a user name selects sessions', 'exact', 'sessions.kill-user compares each name again.'),
  ownSession: trait('The API key is a session in the list', false, 'sessions.kill-matching leaves it out.'),
  successText: written('Spelling of the success text', 'short'),
  allLists: written('The result has empty lists', false),
  createStatus: written('Status of a creation', 201),
  updateStatus: written('Status of an update', 200),
  deleteStatus: written('Status of a removal', 204),
  warningsOnly: written('A success has only warnings', false),
  errorsInSuccess: written('A refused write gets a status of success', false, 'The nodes read the errors in the result.'),
  errorBody: trait('Body of an error', 'envelope', 'Errors show the status without the words of the appliance.'),
  noContentType: written('A 204 has a content type', true),
  wrongMethodStatus: trait('Status for a wrong method', 400),
  collectionInParent: trait('A collection in its parent', 'list', 'Snapshots follow the links.'),
  userEntries: trait('Entries of the list of local users', 'name'),
  entryLinks: trait('Links in the entries of a collection', 'href', 'Snapshots build the paths from the names.'),
  usersAt: trait('Path of the list of local users', 'user', 'users.list looks at both paths.'),
  userFields: trait('Fields of a local user', 'plain', 'Further fields are kept by updates.'),
  putMerges: written(
    'A PUT keeps fields that it does not name',
    true,
    'config.update must send the whole resource. config.ensure does so.',
  ),
  changesField: written(
    'A field that the appliance changes by itself',
    '',
    'config.ensure reports a CONFLICT if the flow sets this field.',
  ),
  forbiddenBranch: trait('A branch that the account may not read', '', 'Operations on this branch are FORBIDDEN.'),
  uac: trait('The subtree of a policy appliance', 'plain', 'Without it, gateway-policy is NOT_FOUND.'),
  sessionOptionsExtra: trait('Session options have more than the idle timeout', true),
  cpuKey: trait('Key of the CPU load', 'CPU-UTILIZATION4', 'Limits of gateway-watch accept both.'),
  healthNumbers: trait('Health values are numbers or text', 'number'),
  diskUnknown: trait('The disk load is unknown (-1)', true, 'It is known: limits for it work.'),
  healthNeedsKey: trait('The health check needs an API key', true),
  machineId: trait('System information has a machine id', true, 'A pin can use only the serial number.'),
  clockAhead: trait('Seconds by which the clock is ahead', 0, 'One-time codes and times of sessions are shifted.'),
  tlsVersion: trait('TLS version of a connection', 'TLSv1.3', 'Node.js accepts both.'),
  etags: written('A write of an older version is refused', false, 'config.update and config.ensure send the tag that they read.'),
  etagPerResponse: trait('Each response has another ETag', false, 'The nodes find out, and then write without If-Match.'),
  clusterNode: trait('System information names the cluster node', false),
  xmlEndpoints: trait('Import and export as XML exist', true, 'Use binary in gateway-transfer and gateway-backup.'),
};

/** Variants that no check can detect, with the reason. */
export const UNPROBED_VARIANTS: Readonly<Record<string, string>> = {
  lockAfter: 'only refused logins of an account show it, and they would lock the account',
  idleUnitMs: 'only a key that was idle until it expired shows it, and each request renews the key',
  sourceIpEveryRequest: 'only a realm that excludes the address of this machine shows it',
  ruleUserNames: 'a read shows only the rules that exist; a realm would have to get another rule',
  namedErrorStatus: 'only a refused import shows it, and an appliance could carry the import out',
  namedErrorList: 'only a refused import shows it, and an appliance could carry the import out',
  largeTree: 'it is the size of a simulated tree, not a behavior',
  vanishing: 'somebody would have to remove resources at that moment',
  checkCertificates: 'only an upload shows it, and a certificate that is accepted stays',
  binaryExportByGet: 'a GET would start an export of all secrets where it is supported',
  binaryExportByPost: 'a POST would start an export of all secrets where it is supported',
  importNeedsPassword: 'an import without a password would run where none is needed',
  binaryCutShort: 'only the end of an export shows it, and an export contains all secrets',
  binaryPassword: 'only an import of an encrypted export shows it, and it replaces the configuration',
  binaryLine: 'only the text of an export shows it, and an export contains all secrets',
  xmlNamespace: 'only the text of an export shows it, and an export contains all secrets',
  xmlSection: 'only the text of an export shows it, and an export contains all secrets',
  transferMs: 'only a complete export or import shows it',
  largeExport: 'only a complete export shows its size',
  transferRate: 'only a complete export shows its speed',
};
