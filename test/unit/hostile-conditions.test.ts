import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { getContainmentStores } from '../../src/contain/containment-store';
import { withLockFile } from '../../src/files/lock-file';
import { JournalWriter, type JournalEntryFields } from '../../src/journal/journal-writer';
import { verifyJournal } from '../../src/journal/verify-journal';
import { asGatewayError } from '../../src/model/error';
import { RecordSigner } from '../../src/model/record-signer';
import { SnapshotFolder } from '../../src/snapshot/snapshot-folder';
import { SessionTracker } from '../../src/watch/session-tracker';
import { WatchStateFile } from '../../src/watch/watch-state-file';
import { createTemporaryFolder, withPatchedFileHandles } from '../helpers/journal';
import { expectFailure } from '../helpers/simulated-appliance';
import { resetContainmentStores } from '../helpers/reset-process-state';

const FIELDS: JournalEntryFields = {
  ...{ at: '2026-11-20T08:00:00.000Z', appliance: 'vpn-1', 'serial-number': null, node: null, flow: null, actor: null },
  ...{ operation: 'config.update', request: { method: 'PUT', path: '/' }, status: null, ok: null, code: null },
  ...{ changed: null, diff: null, undo: false },
};
const RECORD = {
  ...{ id: '00000000-0000-4000-8000-000000000001', appliance: 'hash', name: 'j.doe', accounts: [], ended: 0 },
  ...{ since: '2026-11-20T08:00:00.000Z', until: '2026-11-20T09:00:00.000Z', releasing: false },
};
const MANIFEST = {
  ...{ appliance: 'vpn-1', release: '22.8R2', path: '/api/v1/configuration', 'serial-number': null, ignore: [], roots: [] },
};
const STATE = { save: () => 1 };

describe('a full disk', () => {
  const noSpace = (): Promise<never> => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' }));

  it.each<[string, (folder: string) => Promise<unknown>, string]>([
    ['an entry of the journal', (folder) => JournalWriter.forFolder(folder).announce(FIELDS, undefined), 'BAD_CONFIG'],
    ['a containment', (folder) => getContainmentStores('hash').forFolder(folder).put(RECORD), 'LIMIT'],
    ['the state of a watch', (folder) => new WatchStateFile(join(folder, 'watch.jsonl'), 'id').save(STATE, false, 1), 'LIMIT'],
    ['a snapshot', (folder) => SnapshotFolder.open(folder).then((opened) => opened.write('/a', { v: 1 }, new Set())), 'LIMIT'],
    ['the manifest of a snapshot', (folder) => SnapshotFolder.open(folder).then((opened) => opened.writeManifest(MANIFEST, [])), 'LIMIT'],
  ])('a full disk is reported when it stops %s, leaves no partial file, and is over when there is room', async (_what, write, code) => {
    const folder = createTemporaryFolder();
    await withPatchedFileHandles({ write: noSpace }, async () => {
      const error = await expectFailure(
        Promise.resolve().then(() => write(folder).catch((thrown: unknown) => Promise.reject(thrown as Error))),
      );
      expect([error.code, error.message.includes('no room left on the disk')]).toEqual([code, true]);
    });
    expect(readdirSync(folder).filter((name) => name.endsWith('.partial'))).toEqual([]);
    await write(folder);
    resetContainmentStores();
  });

  it('work that needs a lock file still runs on a full disk', async () => {
    const file = join(createTemporaryFolder(), 'x.lock');
    await withPatchedFileHandles({ write: noSpace }, async () => {
      expect(await withLockFile(file, () => Promise.resolve('done'))).toBe('done');
    });
  });
});

describe('two Node-REDs with one folder', () => {
  it('two Node-REDs with different signing keys and one folder report the records of each other; with one key they share them', async () => {
    const folder = createTemporaryFolder();
    const [one, same, other] = [
      'a key of 32 characters, the first',
      'a key of 32 characters, the first',
      'another key of 32 characters',
    ].map((key) => new RecordSigner(key));
    const store = getContainmentStores('hash').forFolder(folder, one);
    await store.put(RECORD);
    await JournalWriter.forFolder(folder).announce(FIELDS, undefined, one);
    resetContainmentStores();
    expect((await getContainmentStores('hash').forFolder(folder, same).readAll()).records).toEqual([RECORD]);
    expect(await verifyJournal(folder, { appliance: 'vpn-1', signer: same })).toMatchObject({ ok: true });
    resetContainmentStores();
    const { records, fault } = await getContainmentStores('hash').forFolder(folder, other).readAll();
    expect([records, asGatewayError(fault).code]).toEqual([[], 'BAD_CONFIG']);
    expect(await verifyJournal(folder, { appliance: 'vpn-1', signer: other })).toMatchObject({ ok: false });
    resetContainmentStores();
  });

  it('two Node-REDs with one folder use its lock one after the other', async () => {
    const file = join(createTemporaryFolder(), 'x.lock');
    const signer = new RecordSigner('a key of 32 characters, the first');
    const order: string[] = [];
    const hold = (name: string): Promise<void> =>
      withLockFile(
        file,
        async () => {
          order.push(`${name} begins`);
          await new Promise((resolve) => setTimeout(resolve, 20));
          order.push(`${name} ends`);
        },
        signer,
      );
    await Promise.all([hold('a'), hold('b')]);
    expect(order.map((line) => line.split(' ')[1])).toEqual(['begins', 'ends', 'begins', 'ends']);
    expect(existsSync(file)).toBe(false);
  });
});

describe('a folder that is gone', () => {
  it('a watch does not create its folder again when a network share is not mounted', async () => {
    const share = join(createTemporaryFolder(), 'share');
    const file = join(share, 'watch', 'watch.jsonl');
    mkdirSync(share);
    expect(await new WatchStateFile(file, 'id').load()).toBeUndefined();
    rmSync(share, { recursive: true });
    expect(await expectFailure(new WatchStateFile(file, 'id').load())).toMatchObject({ details: { statusReason: 'folder-missing' } });
    expect(existsSync(share)).toBe(false);
  });
});

describe('100,000 sessions that end at once', () => {
  it('a watch reports each of 100,000 sessions that end at once, and saves them in one line', async () => {
    const sessions = Array.from({ length: 100_000 }, (_, index) => ({ 'session-id': `sid${index}`, 'active-user-name': `user-${index}` }));
    const tracker = new SessionTracker();
    tracker.update(sessions);
    const { events, change } = tracker.update([]);
    expect(events).toHaveLength(100_000);
    expect(new Set(events.map(({ event }) => event))).toEqual(new Set(['ended']));
    const file = join(createTemporaryFolder(), 'watch.jsonl');
    const state = new WatchStateFile(file, 'id', new RecordSigner('a key of 32 characters, the first'));
    await state.save(tracker, false, 1);
    state.addEntry({ number: 2, change, isUnreachable: false, events: events.map((event) => ({ ...event })) });
    state.close();
    const restored = await new WatchStateFile(file, 'id', new RecordSigner('a key of 32 characters, the first')).load();
    expect(restored?.unsentEntry?.events).toHaveLength(100_000);
  });
});
