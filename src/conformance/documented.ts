import type { ProfileKeys } from './response-shape';

/** Documented GET requests without names in their paths (appliance-api.md, "Endpoints"). */
export interface DocumentedRead {
  readonly path: string;
  readonly query?: string;
  readonly keys: ProfileKeys;
}

function keys(prefix: string, kind: string, names: string): ProfileKeys {
  return Object.fromEntries(names.split(',').map((name) => [prefix + name.trim(), kind]));
}

const RECORD = 'active-users/active-user-records/active-user-record/[]/';
const LEASES = 'leased-license-counts/';
const RECORD_TEXTS =
  'active-user-name,agent-type,authentication-realm,browser-id,endpoint-security-status,login-node,ngp-session-id,' +
  'primary-auth-server-name,primary-auth-server-type,session-id,sign-in-time-micro,source-ip,user-roles,user-sign-in-time';
/** Fields of a session record that the interface allows to be null (appliance-api.md, "Active user record"). */
export const NULLABLE_RECORD_FIELDS = (
  'active-secondary-user-name,device-id,hc-failed-reasons,mac-address,network-connect-ip,network-connect-ipv6,' +
  'network-connect-transport-mode,secondary-auth-server-name,secondary-auth-server-type'
).split(',');

export const SESSIONS_PATH = '/api/v1/system/active-users';
export const DOCUMENTED_SYSTEM_INFORMATION: DocumentedRead = {
  path: '/api/v1/system/system-information',
  keys: {
    ...keys('rollback-partition-information/', 'text', 'build,os-name,os-version'),
    ...keys('software-inventory/software/', 'text', 'build,name,type,version'),
    ...keys('system-information/', 'text', 'hardware-model,host-name,os-name,os-version,serial-number'),
  },
};
export const SESSION_LIST_KEYS: ProfileKeys = {
  ...keys(RECORD, 'text', RECORD_TEXTS),
  ...keys(RECORD, 'text|null', NULLABLE_RECORD_FIELDS.join()),
  [`${RECORD}events`]: 'number',
  ...keys('active-users/', 'number', 'total-matched-record-number,total-returned-record-number'),
  'active-users/user-login-permission': 'boolean',
};
const HEALTH = '/api/v1/system/healthcheck';
export const DOCUMENTED_HEALTH: DocumentedRead = {
  path: HEALTH,
  query: 'status=all',
  keys: {
    ...keys('', 'number', 'CPU-UTILIZATION4,SSL-CONNECTION-COUNT,SWAP-UTILIZATION,DISK-UTILIZATION,USER-COUNT,VPN-TUNNEL-COUNT'),
    'MAX-LICENSED-USERS-REACHED': 'text',
  },
};

/** Other documented reads whose paths contain no name. */
export const OTHER_DOCUMENTED_READS: readonly DocumentedRead[] = [
  { path: HEALTH, keys: { message: 'text' } },
  { path: HEALTH, query: 'status=sbr', keys: { 'SBR-AVAILABLE': 'number' } },
  {
    path: '/api/v1/license/license-server-lease-information',
    keys: {
      ...keys(`${LEASES}features/feature/[]/`, 'text', 'name'),
      [`${LEASES}features/feature/[]/total-count`]: 'number',
      [`${LEASES}features/feature/[]/clients/client-info/[]/name`]: 'text',
      [`${LEASES}features/feature/[]/clients/client-info/[]/leased-count`]: 'number',
      [`${LEASES}query-summary`]: 'object',
      ...keys(LEASES, 'text', 'machine-id,signature,time-stamp'),
      ...keys(`${LEASES}release-info/`, 'text', 'build-number,version'),
      [`${LEASES}serial-number`]: 'text|null',
    },
  },
  { path: '/api/v1/license/named-users', keys: {} },
  {
    path: '/api/v1/cluster',
    keys: {
      ...keys('', 'text', 'name,mode'),
      ...keys('members/[]/', 'text', 'name,internal-ip,internal-netmask,external-ip,notes,status-code'),
      'members/[]/enabled': 'boolean',
    },
  },
];

export const CONFIGURATION_PATH = '/api/v1/configuration';
export const ESAP_PACKAGES_PATH = `${CONFIGURATION_PATH}/authentication/endpoint/host-checker/esaps`;
export const DOCUMENTED_TREE_KEYS: Readonly<Record<string, ProfileKeys>> = {
  [CONFIGURATION_PATH]: keys('', 'object', 'administrators,authentication,system,users'),
  [`${CONFIGURATION_PATH}/uac`]: keys('', 'object', 'admissionControl,host-enforcer,mac-address-realms,network-access,snmpEnforcement'),
  [`${ESAP_PACKAGES_PATH}?expand`]: {
    ...keys('', 'text', 'active-version,default-version,force-same-esap'),
    ...keys('esap/[]/', 'text', 'esap-version,last-activated-time,upload-time'),
  },
};
/** Documented keys of a local user (appliance-api.md, "Local user") except the password, which no read returns. */
export const LOCAL_USER_KEYS: ProfileKeys = keys(
  '',
  'text',
  'username,fullname,enabled,console-access,change-password-at-signin,one-time-use',
);

/** Keys that are documented in another place or with another word, so that they do not count as a difference. */
export const IGNORED_KEY_PATTERN =
  /(?:^|\/)(?:href|is-last-record|Is-last-record|machine-id|cluster-node(?:\/.*)?|[^/]+-(?:client-version|enforcer|sdk-version)(?:\/.*)?)$/;

const MORE_WORDS =
  'href,result,info,warnings,errors,message,name,is-last-record,Is-last-record,machine-id,cluster-node,CPU-UTILIZATION,named-users,' +
  'IP,Last Agent Type,Last Role,Last Sign in,User,Appliance,Last Login IP,Last Login time,Login Realm,Role,User Agent,clients,client-info,' +
  'leased-count,query-summary,external-netmask,external-network,external-vip-ipv4,internal-vip-ipv4,external-vip-owner,internal-vip-owner,' +
  'networkDeviceAdministration,ad-group,group,sid,user-group,dn,group-type,access,address,netmask,customized,user-selects-role,' +
  'user-selects-roleset,rule,roles,stop-rules-processing,group-names,test,user-names,user-name,idle-timeout,max-timeout,reminder-time,' +
  'auth-servers,auth-server,auth-server-type,local,users,user,user-roles,user-role,user-realms,resource-policies,admin-realms,realm,' +
  'admin-roles,admin-role,role-mapping-rules,authentication-policy,authentication-server,general,session-options,source-ip,ips,ip,endpoint,' +
  'host-checker,esaps,settings,description,user-timezone,guestcreatedby,attributes-table,network,log,password-cleartext,api_key,resume_id';

/** Key names of the interface. Any other key may be a personal name. */
export const KNOWN_INTERFACE_KEYS: ReadonlySet<string> = new Set([
  ...MORE_WORDS.split(','),
  ...[DOCUMENTED_SYSTEM_INFORMATION, DOCUMENTED_HEALTH, ...OTHER_DOCUMENTED_READS].flatMap((read) => wordsOf(read.keys)),
  ...[SESSION_LIST_KEYS, LOCAL_USER_KEYS, ...Object.values(DOCUMENTED_TREE_KEYS)].flatMap(wordsOf),
]);

function wordsOf(some: ProfileKeys): string[] {
  return Object.keys(some).flatMap((path) => path.split('/'));
}
