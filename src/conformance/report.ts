import {
  DOCUMENTED_HEALTH,
  LOCAL_USER_KEYS,
  OTHER_DOCUMENTED_READS,
  SESSIONS_PATH,
  SESSION_LIST_KEYS,
  DOCUMENTED_SYSTEM_INFORMATION,
  DOCUMENTED_TREE_KEYS,
  IGNORED_KEY_PATTERN,
} from './documented';
import { toEndpointTemplate } from './probe-services';
import { formatEndpointName, type ConformanceProfile, type ProfileEndpoint } from './profile';
import type { ProbeRunner } from './probe-runner';
import { parseKindsWithoutNull, type ProfileKeys } from './response-shape';
import { UNPROBED_VARIANTS, APPLIANCE_TRAITS } from './traits';

const LOCAL_USER_PATH = '/api/v1/configuration/authentication/auth-servers/auth-server/*/local/users/user/*';
const DOCUMENTED_KEYS: ReadonlyMap<string, ProfileKeys> = new Map([
  ...[DOCUMENTED_SYSTEM_INFORMATION, DOCUMENTED_HEALTH, ...OTHER_DOCUMENTED_READS].map(
    (read) => [toEndpointTemplate(read), read.keys] as const,
  ),
  ...Object.entries(DOCUMENTED_TREE_KEYS),
  [SESSIONS_PATH, SESSION_LIST_KEYS],
  [LOCAL_USER_PATH, LOCAL_USER_KEYS],
]);

interface ConformanceReportInput {
  readonly prober: ProbeRunner;
  readonly profile: ConformanceProfile;
  readonly hasWrites: boolean;
  /** The reason why the check ended early. */
  readonly failure: string | undefined;
}

/** The report for people, in Markdown. It has keys, kinds, statuses, sizes and times, and no values of the appliance. */
export function writeConformanceReport(input: ConformanceReportInput): string {
  const { profile, prober, failure } = input;
  const end = failure === undefined ? 'The check ran to its end.' : `**The check ended early: ${failure}**`;
  return [
    '# Conformance of an appliance',
    `Release: ${profile.release || 'unknown'}. Requests: ${prober.pacer.sent}. ${end}`,
    ...section(
      'Left on the appliance',
      prober.leftBehind.map((line) => `- **${line}**. Remove it by hand.`),
    ),
    ...section('What holds', linesOfTraits(profile, false)),
    ...section('What differs, and what it means', linesOfTraits(profile, true)),
    ...section('What was observed', [
      ...prober.facts.map(({ text, meaning }) => `- ${text}${meaning === undefined ? '' : ` ${meaning}`}`),
      ...linesOfWords(profile),
    ]),
    ...section('Keys and kinds that differ from the interface description', linesOfKeys(profile)),
    ...section('What could not be tried', linesOfUntried(input)),
    ...section('Responses', tableOfEndpoints(profile)),
  ].join('\n\n');
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`## ${title}`, lines.join('\n')];
}

function linesOfTraits({ variants }: ConformanceProfile, wantsDifferences: boolean): string[] {
  return Object.entries(APPLIANCE_TRAITS).flatMap(([name, { question, usual, meaning }]) => {
    const found = variants[name];
    if (found === undefined || (found !== usual) !== wantsDifferences) return [];
    const answer = `- ${question}: \`${showValue(found)}\``;
    return [wantsDifferences ? `${answer}, documented \`${showValue(usual)}\` (\`${name}\`). ${meaning}` : `${answer}.`];
  });
}

function showValue(value: string | number | boolean): string {
  return value === '' ? 'none' : String(value);
}

/** The names of vendor and brand, which are parts of keys. */
function linesOfWords({ endpoints }: ConformanceProfile): string[] {
  const names = new Set(endpoints.flatMap(({ keys }) => Object.keys(keys).flatMap((path) => path.split('/'))));
  const endings = [
    ['Vendor', '-enforcer'],
    ['Brand', '-client-version'],
  ] as const;
  return endings.flatMap(([label, ending]) =>
    [...names].filter((name) => name.endsWith(ending) && name !== 'host-enforcer').map((name) => `- ${label} in a key: \`${name}\`.`),
  );
}

/** Documented keys that are missing or have another kind, and keys that are not documented. */
function linesOfKeys({ endpoints }: ConformanceProfile): string[] {
  return endpoints.flatMap((endpoint) => {
    const documented = endpoint.method === 'GET' && endpoint.credentials === undefined ? DOCUMENTED_KEYS.get(endpoint.path) : undefined;
    if (!documented || endpoint.status !== 200 || Object.keys(documented).length === 0) return [];
    return describeKeys(endpoint, documented).map((text) => `- \`${formatEndpointName(endpoint)}\`: ${text}`);
  });
}

function describeKeys({ keys }: ProfileEndpoint, documented: ProfileKeys): string[] {
  const isSeen = (path: string): boolean => {
    const parent = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    return parent === '' || keys[parent] !== undefined;
  };
  const missing = Object.keys(documented).filter((path) => keys[path] === undefined && isSeen(path));
  const otherKinds = Object.entries(documented).flatMap(([path, expected]) => {
    const found = parseKindsWithoutNull(keys[path] ?? '').filter((kind) => kind !== '');
    return found.some((kind) => !expected.split('|').includes(kind)) ? [`\`${path}\` is ${found.join(' or ')}`] : [];
  });
  const parents = Object.keys(documented);
  const further = Object.keys(keys).filter(
    (path) =>
      !IGNORED_KEY_PATTERN.test(path) &&
      documented[path] === undefined &&
      !parents.some((one) => one.startsWith(`${path}/`)) &&
      !path.endsWith('[]'),
  );
  const list = (paths: readonly string[]): string => paths.map((path) => `\`${path}\``).join(', ');
  return [
    ...(missing.length > 0 ? [`not there: ${list(missing)}.`] : []),
    ...(otherKinds.length > 0 ? [`another kind: ${otherKinds.join(', ')}.`] : []),
    ...(further.length > 0 ? [`not documented: ${list(further)}.`] : []),
  ];
}

function linesOfUntried({ prober, profile, hasWrites }: ConformanceReportInput): string[] {
  const withoutWrites = Object.keys(APPLIANCE_TRAITS).filter(
    (name) => APPLIANCE_TRAITS[name]?.needsWrites && profile.variants[name] === undefined,
  );
  return [
    ...prober.untried.map(({ what, why }) => `- ${what}: ${why}.`),
    ...(hasWrites ? [] : [`- ${withoutWrites.join(', ')}: the check had no writes.`]),
    ...Object.entries(UNPROBED_VARIANTS).map(([name, why]) => `- ${name}: ${why}.`),
  ];
}

function tableOfEndpoints({ endpoints, times }: ConformanceProfile): string[] {
  const rows = endpoints.map((endpoint) => {
    const { status, body, bytes } = endpoint;
    const time = times[formatEndpointName(endpoint)];
    const cells = [`\`${formatEndpointName(endpoint)}\``, status, body, bytes, time?.count ?? '', time?.median ?? '', time?.p95 ?? ''];
    return `| ${cells.join(' | ')} |`;
  });
  return ['| request | status | body | bytes | count | median (ms) | 95th percentile (ms) |', '|---|---|---|---|---|---|---|', ...rows];
}
