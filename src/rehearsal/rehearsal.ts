import { createHash, randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { GatewayError } from '../model/error';
import { checkSettings, type Settings } from '../model/settings';
import {
  launchSimulatedCopy,
  type RehearsalCopyEndpoint,
  type RehearsalCopyOptions,
  type LaunchRehearsalCopy,
  type RunningRehearsalCopy,
} from './copy-launcher';

/** Maximum number of copies. Each is a process with the memory of a small Node.js program. */
export const MAX_REHEARSAL_COPIES = 50;
const DEFAULT_REALM = 'Admin Users';
const DEFAULT_USERNAME = 'rehearsal';
/** Suffix of the folder with the journal of rehearsals, which is beside the real journal. */
const JOURNAL_SUFFIX = '-rehearsal';

const rehearsals = new Map<string, Rehearsal>();
let launchCopy: LaunchRehearsalCopy = launchSimulatedCopy;

/** Replaces the way a copy is started. Tests of the nodes start it in their own process. */
export function setRehearsalCopyLauncher(launcher: LaunchRehearsalCopy = launchSimulatedCopy): void {
  launchCopy = launcher;
}

/**
 * A copy of an appliance. The gateways of the same address and snapshot folder share it. It starts at the first request and ends with its
 * last gateway.
 */
export class Rehearsal {
  readonly #key: string;
  readonly #folder: string;
  /** An address whose host cannot be resolved, so no request can leave before the copy has an address. */
  readonly #url: string;
  readonly #username: string;
  readonly #realm: string;
  readonly #password = randomBytes(24).toString('base64url');
  readonly #words: { readonly vendor?: string; readonly brand?: string };
  readonly #members = new Set<object>();
  #closing = new AbortController();
  #starting: Promise<RunningRehearsalCopy> | undefined;
  #copy: RunningRehearsalCopy | undefined;
  /** What a restarted copy takes over, so that open gateways find it. */
  #address: Pick<RehearsalCopyOptions, 'port' | 'tls'> = { port: 0 };

  private constructor(key: string, { rehearsal = '', username, realm, vendor, brand }: Settings) {
    this.#key = key;
    this.#folder = resolve(rehearsal);
    this.#url = `https://copy-${key.slice(0, 12)}.invalid`;
    this.#username = username || DEFAULT_USERNAME;
    this.#realm = realm || DEFAULT_REALM;
    this.#words = { ...(vendor && { vendor }), ...(brand && { brand }) };
  }

  /** The rehearsal of these settings. It counts no user until `join`. Errors: `BAD_CONFIG` for an address that cannot be used. */
  static find(settings: Settings): Rehearsal {
    const key = createKey(settings);
    return rehearsals.get(key) ?? new Rehearsal(key, settings);
  }

  /** Settings that reach only the copy: its address, its administrator, and its own journal. */
  toSettings(settings: Settings): Settings {
    const { name, url, journal } = settings;
    const others = { ...settings };
    for (const unused of ['tls', 'proxy', 'apiKey', 'secondUsername', 'secondPassword', 'totpSecret'] as const) delete others[unused];
    return {
      ...others,
      name: name || new URL(url).host,
      url: this.#url,
      login: 'realm',
      realm: this.#realm,
      username: this.#username,
      password: this.#password,
      secondFactor: 'none',
      ...(journal && { journal: journal.replace(/[\\/]+$/, '') + JOURNAL_SUFFIX }),
    };
  }

  join(member: object): void {
    this.#members.add(member);
    rehearsals.set(this.#key, this);
  }

  /** Ends the copy when its last gateway leaves. */
  leave(member: object): void {
    if (!this.#members.delete(member) || this.#members.size > 0) return;
    if (rehearsals.get(this.#key) === this) rehearsals.delete(this.#key);
    this.#closing.abort();
    this.#copy?.close();
    this.#copy = undefined;
    this.#starting = undefined;
  }

  /** Starts the copy if needed. Errors: `BAD_CONFIG` if the folder is not a snapshot, `LIMIT` if too many copies run. */
  async endpoint(): Promise<RehearsalCopyEndpoint> {
    const starting = (this.#starting ??= this.#launch());
    try {
      return (await starting).endpoint;
    } catch (error) {
      // The next request tries again.
      if (this.#starting === starting) this.#starting = undefined;
      throw error;
    }
  }

  /** Starts the copy again with the snapshot, also after it has ended by itself. */
  async reset(): Promise<void> {
    if (this.#starting === undefined) return;
    const copy = await this.#starting.catch(() => undefined);
    if (copy && !copy.hasEnded) return copy.reset();
    this.#starting = undefined;
    await this.endpoint();
  }

  async #launch(): Promise<RunningRehearsalCopy> {
    if (this.#members.size === 0) throw closedError();
    const isRunning = (one: Rehearsal): boolean => one.#starting !== undefined && one !== this;
    if ([...rehearsals.values()].filter(isRunning).length >= MAX_REHEARSAL_COPIES)
      throw new GatewayError('LIMIT', `${MAX_REHEARSAL_COPIES} copies run already, which is the maximum. Rehearse with fewer appliances.`, {
        sent: false,
      });
    const { signal } = this.#closing;
    const options = { from: this.#folder, username: this.#username, password: this.#password, realm: this.#realm };
    const copy = await launchCopy({ ...options, ...this.#words, ...this.#address }, signal);
    if (signal.aborted) {
      copy.close();
      throw closedError();
    }
    const { origin, ca, key } = copy.endpoint;
    this.#address = { port: Number(new URL(origin).port), tls: { key, cert: ca } };
    return (this.#copy = copy);
  }
}

/** Creates the key of a rehearsal. It also checks the address, which the copy does not use. */
function createKey({ url, rehearsal = '' }: Settings): string {
  const { origin, prefix } = checkSettings({ url, login: 'key', apiKey: 'not used' });
  return createHash('sha256')
    .update(JSON.stringify([origin, prefix, resolve(rehearsal)]))
    .digest('hex');
}

function closedError(): GatewayError {
  return new GatewayError('ABORTED', 'The rehearsal ended before this request was sent.', { sent: false });
}
