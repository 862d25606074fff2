import type { NodeAPI } from 'node-red';
import type { Gateway } from '../../src/gateway/gateway';
import { asGatewayError, GatewayError } from '../../src/model/error';
import { isObject, type JsonObject } from '../../src/model/json';
import type { ApplianceFacts, LastBackup, ValueWithTime } from './appliance-facts';

const JOURNAL_DAYS = 14;
const MAX_ENTRIES = 60;
const JOURNAL_TTL_MS = 30_000;
/** Maximum time for local records. A share that does not respond must not delay the overview. */
const MAX_READ_MS = 4000;

interface CachedEntries {
  readonly version: number;
  readonly expiresAt: number;
  readonly entries: Promise<JsonObject[]>;
}

/** The journal entries of the last read, by gateway. They are stored because each read checks every line. */
const entriesByGateway = new WeakMap<Gateway, CachedEntries>();
const backupByGateway = new WeakMap<Gateway, Promise<ValueWithTime<LastBackup> | undefined>>();

/** Reads the local records about an appliance. These operations send no request. */
export class JournalAndBackupReader {
  readonly problems: string[] = [];
  /** Whether the appliance has no journal. Without a node, this is known only after `readJournal`. */
  hasNoJournal = false;
  readonly #gateway: Gateway;

  constructor(gateway: Gateway) {
    this.#gateway = gateway;
  }

  readContained(): Promise<JsonObject[]> {
    return this.#attempt(this.#run('contain.list', {}));
  }

  /** Returns the newest entries. A run since the last read makes it read again. */
  readJournal({ version }: ApplianceFacts): Promise<JsonObject[]> {
    const cached = entriesByGateway.get(this.#gateway);
    if (cached && cached.version === version && cached.expiresAt > performance.now()) return this.#attempt(cached.entries);
    const since = new Date(Date.now() - JOURNAL_DAYS * 86_400_000).toISOString();
    const entries = this.#run('journal.list', { since, limit: MAX_ENTRIES });
    entriesByGateway.set(this.#gateway, { version, expiresAt: performance.now() + JOURNAL_TTL_MS, entries });
    return this.#attempt(entries);
  }

  /**
   * Finds the newest backup in the folders of the deployed backup nodes. One search is enough, because each later run reports its backup.
   */
  async readLastBackup(red: NodeAPI, id: string | undefined): Promise<ValueWithTime<LastBackup> | undefined> {
    if (id === undefined) return undefined;
    let found = backupByGateway.get(this.#gateway);
    if (!found) backupByGateway.set(this.#gateway, (found = this.#findBackup(findBackupFolders(red, id))));
    return found;
  }

  async #findBackup(folders: readonly string[]): Promise<ValueWithTime<LastBackup> | undefined> {
    const lists = await Promise.all(folders.map((folder) => this.#attempt(this.#run('backup.list', { folder }))));
    const times = lists
      .flat()
      .filter(({ appliance }) => appliance === this.#gateway.name)
      .map(({ time, backup }) => ({ at: String(time), value: { ok: true, text: String(backup), changed: null } }));
    return times.sort((a, b) => (a.at < b.at ? 1 : -1))[0];
  }

  async #run(operation: string, input: Readonly<Record<string, unknown>>): Promise<JsonObject[]> {
    const { data } = await this.#gateway.run(operation, input);
    return Array.isArray(data) ? data.filter(isObject) : [];
  }

  /** Waits for local records. Returns an empty list if the read fails or takes too long, and records the reason. */
  async #attempt(records: Promise<JsonObject[]>): Promise<JsonObject[]> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_resolve, reject) => {
      const error = new GatewayError('TIMEOUT', 'A folder of this appliance did not respond in time, so its records are missing here.');
      timer = setTimeout(() => reject(error), MAX_READ_MS).unref();
    });
    try {
      return await Promise.race([records, timeout]);
    } catch (thrown) {
      const { message, details } = asGatewayError(thrown);
      if (details.statusReason === 'journal-missing') this.hasNoJournal = true;
      else this.problems.push(message);
      return [];
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Returns the folders that deployed backup nodes of this appliance name in their dialog. */
function findBackupFolders(red: NodeAPI, id: string): string[] {
  const folders = new Set<string>();
  red.nodes.eachNode((node) => {
    const { type, appliance, fields, d }: Readonly<Record<string, unknown>> = { ...node };
    const entry = isObject(fields) ? fields['folder'] : undefined;
    if (type !== 'gateway-backup' || appliance !== id || d === true || !isObject(entry) || entry['type'] !== 'str') return;
    if (typeof entry['value'] === 'string' && entry['value'].trim() !== '') folders.add(entry['value']);
  });
  return [...folders];
}
