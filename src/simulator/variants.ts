/**
 * What deployed appliances do differently from one another. Every fact is one entry: its help text (printed by
 * `gateway-simulator --help`), its default (what appliance-api.md says) and the values it takes. The type `Variants`
 * is derived, so an entry can't be forgotten in one place.
 */
export type VariantValue = string | number | boolean;

/** One way in which appliances differ. */
export interface Variant<T extends VariantValue> {
  readonly help: string;
  readonly default: T;
  /** The allowed values; `undefined` = any value of the default's type. */
  readonly values: readonly T[] | undefined;
}

const oneOf = <const T extends VariantValue>(help: string, first: T, ...others: T[]): Variant<T> => ({
  help,
  default: first,
  values: [first, ...others],
});
const on = (help: string): Variant<boolean> => ({ help, default: true, values: [true, false] });
const off = (help: string): Variant<boolean> => ({ help, default: false, values: [false, true] });
const number = (help: string, value: number): Variant<number> => ({ help, default: value, values: undefined });
const text = (help: string, value: string): Variant<string> => ({ help, default: value, values: undefined });

export const VARIANTS = {
  // Login
  legacyLogin: oneOf(
    'methods of /api/v1/auth; unsupported = release 22.7R2.1 and later, answers 404',
    'post',
    'get',
    'both',
    'unsupported',
  ),
  restAccess: on('the administrator account allows REST access; off: every login is 403'),
  loginAnswer: oneOf(
    'neither = the realm login answers 200 with neither resume_id nor api_key; redirect, page = as the user portal does, whatever is asked',
    'key',
    'neither',
    'redirect',
    'page',
  ),
  deadKeyStatus: oneOf('how a key that has died is answered: 401 with an envelope, or 403 with an empty body', 401, 403),
  wrongPasswordStatus: oneOf('status of a login with wrong credentials', 401, 403),
  lockAfter: number('the account locks after so many wrong passwords', 5),
  idleUnitMs: number("length of one unit of an admin role's idle-timeout in ms (the interface does not state it; minutes)", 60_000),
  sourceIpEveryRequest: off("an admin realm's source addresses are checked at every request, not at login only"),

  // Active users
  startCountsFrom: oneOf('number of the first record for the query key start', 1, 0),
  ignoresStart: off('the query key start is ignored: the guide of this release knows number alone'),
  clipAt200: on('number above 200 is clipped; off = older releases'),
  isLastRecord: oneOf('where is-last-record stands, seen from active-users', 'inside', 'beside', 'absent'),
  isLastRecordSpelling: oneOf('spelling of is-last-record', 'is-last-record', 'Is-last-record'),
  totals: oneOf('totals, events and is-last-record come as numbers and booleans, or as text', 'number', 'text'),
  noRecords: oneOf('an answer without a record: empty array, no array, no active-user-records at all', 'empty', 'no-array', 'no-container'),
  nullKeys: oneOf('keys without value: null, absent, or now this and now that', 'null', 'absent', 'mixed'),
  nameFilter: oneOf('how the query key name matches a user name', 'exact', 'prefix'),
  ownSession: off("each API key is also a session in the list (role .Administrators); ending it ends the key, ?all ends everyone's"),

  // Result envelope and statuses
  successText: oneOf('the two spellings of the success text', 'short', 'long'),
  allLists: off('the envelope shows info, warnings and errors even when empty'),
  createStatus: oneOf('status of a successful POST in the tree', 201, 200, 204),
  updateStatus: oneOf('status of a successful PUT in the tree', 200, 204, 201),
  deleteStatus: oneOf('status of a successful DELETE in the tree', 204, 200),
  warningsOnly: off('a clean write in the tree answers with nothing but a warning that the configuration was implicitly changed'),
  errorsInSuccess: off('a refused write (404, 422) comes as 200 with result.errors'),
  errorBody: oneOf('body of an error', 'envelope', 'empty', 'html'),
  noContentType: on('204 carries Content-Type: application/json all the same'),
  wrongMethodStatus: oneOf('status for a method that a path does not have', 400, 405),
  namedErrorStatus: oneOf('status of the errors that the interface names (its status is not shown)', 422, 400, 500, 200),
  namedErrorList: oneOf('list of the envelope which carries those', 'errors', 'info', 'warnings'),

  // Configuration tree
  collectionInParent: oneOf('a collection inside its parent: the list itself, or a hyperlink', 'list', 'link'),
  userEntries: oneOf('entries of the list of local users: {name, href}, {username, href} or whole users', 'name', 'username', 'whole'),
  entryLinks: oneOf(
    'what an entry of a collection has beside its name: an href, or nothing, or the name stands alone as text',
    'href',
    'none',
    'text',
  ),
  usersAt: oneOf('where the list of local users is: user below users, or users itself (then user is 404)', 'user', 'users'),
  userFields: oneOf('fields of a local user: those of the interface, or those of a policy appliance too', 'plain', 'policy'),
  putMerges: on('a PUT keeps what its body does not name; off = it replaces: what is missing goes back to its default'),
  changesField: text('a write of a resource that has this field also sets it, to "set by the appliance", with a warning; empty = none', ''),
  largeTree: number('so many generated resources in the tree, policies in sets below users/resource-policies; 0 = none', 0),
  vanishing: number('every so many generated policies are gone by the time their link is followed; 0 = none', 0),
  forbiddenBranch: text('a branch of the tree that the account may not read (403), such as users/user-roles', ''),
  uac: oneOf('the uac subtree; absent = not a policy appliance', 'plain', 'device-administration', 'absent'),
  etags: off('a resource of the tree has an ETag, and a write with another If-Match is 412'),
  etagPerResponse: off('with etags: each response has another ETag, also of an unchanged resource'),
  sessionOptionsExtra: on('session options also hold max-timeout and reminder-time'),
  ruleUserNames: on('role-mapping rules may also hold user-name: { test, user-names[] }'),

  // System
  tlsVersion: oneOf('highest TLS version', 'TLSv1.3', 'TLSv1.2'),
  cpuKey: oneOf('key of the processor load', 'CPU-UTILIZATION4', 'CPU-UTILIZATION'),
  healthNumbers: oneOf('health values as numbers or as numeric text', 'number', 'text'),
  diskUnknown: on('DISK-UTILIZATION is -1 (unknown)'),
  healthNeedsKey: on('the health check needs an API key (not shown in the interface)'),
  machineId: on('system-information holds machine-id'),
  clockAhead: number('seconds by which the clock of the appliance is ahead, as the header Date tells', 0),
  clusterNode: off('system-information holds cluster-node'),
  checkCertificates: on('uploaded certificates and bundles are parsed and a wrong password is refused'),

  // Import and export
  binaryExportByGet: off('old release: GET on binary-configuration exports'),
  binaryExportByPost: oneOf('status of POST on binary-configuration; not 200 = an old release, which knows GET alone', 200, 404, 405),
  xmlEndpoints: on('import-xml and export-xml exist; off = older release, 404'),
  importNeedsPassword: off('the form of an XML import is refused without its part password'),
  binaryPassword: off('a binary export with a password is encrypted, and the import reads the query key password'),
  binaryCutShort: off('the binary export is cut in the middle, with status 200 and a fitting length'),
  binaryLine: number('characters per line of the binary export', 76),
  xmlNamespace: text('namespace of the XML configuration; it changes with the release', 'urn:appliance:configuration:25.1R3'),
  xmlSection: text('the XML export holds only this section of the tree', ''),
  transferMs: number('how long an import or export takes (minutes on a real appliance)', 0),
  largeExport: number('exports are filled up to so many MiB, generated while they are sent; 0 = only what there is', 0),
  transferRate: number('large exports are sent at so many kB a second; 0 = as fast as can be', 0),
  restarting: off('the REST server restarts: every request is 500'),
} as const;

type Table = typeof VARIANTS;
export type Variants = { -readonly [K in keyof Table]: Table[K] extends Variant<infer T> ? T : never };

export function defaultVariants(): Variants {
  return Object.fromEntries(Object.entries(VARIANTS).map(([name, entry]) => [name, entry.default])) as Variants;
}

/** Parses one `name[=value]` of the command line. Throws a sentence about an invalid one. */
export function parseVariant(argument: string): Partial<Variants> {
  const [name = '', ...rest] = argument.split('=');
  const entry = Object.hasOwn(VARIANTS, name) ? (VARIANTS[name as keyof Variants] as Variant<VariantValue>) : undefined;
  if (!entry) throw new Error(`There is no variant "${name}". The variants are: ${Object.keys(VARIANTS).join(', ')}.`);
  const valueText = rest.length > 0 ? rest.join('=') : typeof entry.default === 'boolean' ? String(!entry.default) : '';
  const value = entry.values
    ? entry.values.find((allowed) => String(allowed) === valueText)
    : typeof entry.default === 'number'
      ? Number(valueText || NaN)
      : valueText;
  if (value === undefined || Number.isNaN(value)) {
    const allowed = entry.values ? entry.values.join(', ') : 'a number';
    throw new Error(`The variant "${name}" takes ${allowed}; it was given "${valueText}".`);
  }
  return { [name]: value };
}
