import { describe, expect, it } from 'vitest';
import { statusForError, statusForErrorCode, statusForOutcome } from '../../nodes/status/status-text';
import { GatewayError } from '../../src/model/error';
import { createEmptyMessageLists, type Envelope, type BulkResult } from '../../src/model/envelope';
import type { OperationName } from '../../src/areas';
import type { RunOutcome } from '../../src/gateway/gateway';

const outcome = (operation: OperationName, data: unknown, more: Partial<Envelope> = {}, many: BulkResult | null = null): RunOutcome => ({
  data,
  many,
  streamed: false,
  envelope: {
    ok: true,
    operation,
    appliance: 'vpn-1',
    request: { method: 'POST', path: '/' },
    status: 200,
    result: createEmptyMessageLists(),
    changed: true,
    dryRun: false,
    requests: 1,
    retries: 0,
    logins: 0,
    ms: 1,
    at: '2026-01-01T00:00:00.000Z',
    ...more,
  },
});
const bulkOutcome = (operation: OperationName, total: number, failed = 0, more: Partial<Envelope> = {}): RunOutcome => {
  const many = { total, ok: total - failed, failed, results: [] };
  return outcome(operation, many, more, many);
};
const READ_ENVELOPE = { changed: null, request: { method: 'GET', path: '/' } };

describe('the status after a message', () => {
  it.each([
    ['ended sessions', bulkOutcome('sessions.kill', 3), 'ended', { n: 3 }],
    ['verified backups', bulkOutcome('backup.verify', 3, 0, { changed: null }), 'items', { n: 3 }],
    ['undone writes', bulkOutcome('journal.undo', 2), 'items', { n: 2 }],
    ['sessions of which some did not end', bulkOutcome('sessions.kill', 3, 1), 'ended-of', { done: 2, n: 3 }],
    ['users of whom some were not disabled', bulkOutcome('users.disable', 3, 1), 'partly', { failed: 1, n: 3 }],
    ['a changed backup', outcome('backup.run', { bytes: 16_500, changed: true }), 'size-changed', { size: '17 kB' }],
    ['an unchanged backup', outcome('backup.run', { bytes: 2_000_000, changed: false }), 'size-unchanged', { size: '2 MB' }],
    ['a snapshot in a folder', outcome('snapshot.take', { bytes: 900, changed: 2 }, { changed: null }), 'size-changed', { size: '1 kB' }],
    ['an export', outcome('transfer.export-xml', Buffer.alloc(1234)), 'size', { size: '2 kB' }],
    ['an unchanged resource', outcome('config.ensure', {}, { changed: false }), 'unchanged', undefined],
    ['a changed resource', outcome('config.ensure', {}, { diff: [] }), 'changed', undefined],
    ['a list of sessions', outcome('sessions.list', [{}, {}], READ_ENVELOPE), 'sessions', { n: 2 }],
    ['another list', outcome('backup.list', [{}], READ_ENVELOPE), 'items', { n: 1 }],
    ['an empty list of sessions', outcome('sessions.list', [], READ_ENVELOPE), 'sessions', { n: 0 }],
    ['a document', outcome('system.info', { failed: 1, total: 2 }, READ_ENVELOPE), 'ok', undefined],
    [
      'a document that looks like results of several items',
      outcome('config.create', { failed: 1, total: 2, results: [] }),
      'ok',
      undefined,
    ],
    ['a write', outcome('config.update', { result: {} }), 'ok', undefined],
    ['a login that waits for its code', outcome('login.login', { state: 'pending' }), 'needs-code', undefined],
    [
      'a dry run',
      bulkOutcome('sessions.kill', 3, 0, { plan: [1, 2, 3].map(() => ({ method: 'DELETE', path: '/' })) }),
      'planned',
      { n: 3 },
    ],
  ])('the status after a message is correct for %s', (_, result, key, values) => {
    expect(statusForOutcome(result, 0)).toMatchObject({ key, ...(values && { values }) });
    if (!values) expect(statusForOutcome(result, 0)).not.toHaveProperty('values');
  });

  it('the node status after a stream shows the number of sent parts', () => {
    expect(statusForOutcome(outcome('sessions.list', undefined, READ_ENVELOPE), 5)).toMatchObject({ key: 'sent', values: { n: 5 } });
  });

  it('the status after a message is red after a failure and gray after a cancellation', () => {
    expect(statusForErrorCode('TLS')).toEqual({ fill: 'red', shape: 'ring', key: 'certificate' });
    expect(statusForErrorCode('ABORTED')).toEqual({ fill: 'grey', shape: 'ring', key: 'cancelled' });
  });

  it('the status after a message names a missing field, or the end of a pause', () => {
    const label = (field: string, english: string): string => (field === 'server' ? english : 'Ein langes Wort dafür');
    const missing = (name: string): GatewayError => new GatewayError('BAD_INPUT', 'x', { missing: { name, label: 'Auth server' } });
    expect(statusForError(missing('server'), label)).toMatchObject({ key: 'needs', values: { field: 'Auth server' } });
    expect(statusForError(missing('other'), label).values?.field).toHaveLength(13);
    const paused = statusForError(new GatewayError('LOGIN_PAUSED', 'x', { retryAfterMs: 52_000 }), label);
    expect(paused).toMatchObject({ key: 'paused', shape: 'ring' });
    expect(paused.endsAt).toBeGreaterThan(performance.now());
    expect(statusForError(new GatewayError('LOGIN_PAUSED', 'x'), label).key).toBe('login-paused');
  });
});
