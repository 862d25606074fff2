/** Path words of the interface (appliance-api.md, field-notes.md). Every other segment may be a personal name. */
const INTERFACE_WORDS = new Set(
  (
    'api v1 auth realm_auth configuration administrators admin-realms admin-roles authentication auth-servers ad ldap local users ' +
    'server-catalog groups user-roles user-realms endpoint host-checker esaps authentication-policy source-ip customized ips ' +
    'role-mapping-rules general session-options enabled description resource-policies uac network-access radius-clients snmpEnforcement ' +
    'clients connections host-enforcer mac-address-realms admissionControl networkDeviceAdministration network log auth-server user ' +
    'admin-role user-role realm radius-client client ip rule system active-users session system-information healthcheck status overview ' +
    'ntp user-stats maintenance export-xml import-xml archiving localbackup binary-configuration certificates device-certificates ' +
    'device-certificate-csrs certificate license license-server-lease-information license-client-lease-state license-key keys-status ' +
    'named-users cluster members totp profiler endpoints'
  ).split(' '),
);
/** The segment after one of these is a name, even when it equals an interface word. */
const SEGMENTS_BEFORE_A_NAME = new Set(
  (
    'auth-server user admin-role user-role realm radius-client client ip rule session named-users members device-certificates ' +
    'device-certificate-csrs totp endpoints'
  ).split(' '),
);
const QUERY_PARAMETERS = new Set('number start name status all expand export import action config-type operation'.split(' '));
const QUERY_VALUES = new Set('all sbr system_config user_config normal full reset unlock'.split(' '));
const MAX_SEGMENTS = 40;

/** Masks all path segments and query values that are not interface words with `*`. `prefix` is the path of the base URL. */
export function toPathTemplate(path: string, prefix: string): string {
  const relative = path.startsWith(prefix) ? path.slice(prefix.length) : path;
  const question = relative.indexOf('?');
  const segments = (question < 0 ? relative : relative.slice(0, question)).split('/', MAX_SEGMENTS);
  const masked = segments.map((segment, index) => {
    const isWord = segment === '' || (INTERFACE_WORDS.has(segment) && !SEGMENTS_BEFORE_A_NAME.has(segments[index - 1] ?? ''));
    return isWord ? segment : '*';
  });
  return masked.join('/') + (question < 0 ? '' : toQueryTemplate(relative.slice(question + 1)));
}

function toQueryTemplate(query: string): string {
  const parts = query.split('&', MAX_SEGMENTS).map((part) => {
    const [name = '', ...rest] = part.split('=');
    if (!QUERY_PARAMETERS.has(name)) return part === '' ? '' : '*';
    const value = rest.join('=');
    return rest.length === 0 ? name : `${name}=${/^\d{1,7}$/.test(value) || QUERY_VALUES.has(value) ? value : '*'}`;
  });
  return `?${parts.join('&')}`;
}
