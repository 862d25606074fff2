import type { Dispatcher } from 'undici';
import { describe, expect, it } from 'vitest';
import { ConnectionPool, REUSE_DELAY_TICKS, type SocketEvents, type ResponseHandler } from '../../../src/http/connection-pool';
import { afterEventLoopTicks } from '../../../src/http/connection-pool';

const OPTIONS = { path: '/', method: 'GET' } as Dispatcher.DispatchOptions;
const rested = (): Promise<void> => new Promise((resolve) => afterEventLoopTicks(REUSE_DELAY_TICKS + 1, resolve));

/** A request that waits for a response. */
class Waiter implements ResponseHandler {
  isSettled = false;
  letGoes = 0;
  readonly errors: unknown[] = [];
  onDone: () => void = () => undefined;
  finishEarly(): void {
    this.letGoes++;
  }
  onResponseError(_controller: unknown, error: Error): void {
    this.errors.push(error);
  }
}

/** Connections whose clients record requests and answer on demand. */
function counted(limit: number) {
  const clients: { given: Waiter[]; ended: number; events: SocketEvents; fails?: Error }[] = [];
  const connections = new ConnectionPool(limit, (events) => {
    const client: (typeof clients)[number] = { given: [], ended: 0, events };
    clients.push(client);
    return {
      dispatch: (_options: Dispatcher.DispatchOptions, tenant: Dispatcher.DispatchHandler) => {
        if (client.fails) throw client.fails;
        client.given.push(tenant as Waiter);
        return true;
      },
      destroy: () => {
        client.ended++;
        return Promise.resolve();
      },
    };
  });
  const ask = (): Waiter => {
    const waiter = new Waiter();
    connections.dispatch(OPTIONS, waiter);
    return waiter;
  };
  return { connections, clients, ask };
}

describe('ConnectionPool with counted clients', () => {
  it('ConnectionPool opens connections up to the limit and serves waiting requests in order', async () => {
    const { connections, clients, ask } = counted(2);
    const waiters = Array.from({ length: 6 }, ask);
    expect(connections.load).toEqual({ open: 2, waiting: 4 });
    for (let served = 2; served < 6; served++) {
      const free = clients.find(({ given }) => given.at(-1) === waiters[served - 2]);
      waiters[served - 2]?.onDone();
      expect(free?.given.at(-1)).toBe(waiters[served - 2]);
      await rested();
      expect(free?.given.at(-1)).toBe(waiters[served]);
      expect(connections.load).toEqual({ open: 2, waiting: 5 - served });
    }
  });

  it('ConnectionPool reuses a connection only after some event loop ticks, and opens no other connection meanwhile', async () => {
    const { connections, clients, ask } = counted(3);
    ask().onDone();
    const next = ask();
    expect([connections.load, clients[0]?.given.length]).toEqual([{ open: 1, waiting: 1 }, 1]);
    ask();
    expect(connections.load).toEqual({ open: 2, waiting: 1 });
    await rested();
    expect(clients[0]?.given[1]).toBe(next);
    next.onDone();
    await rested();
    const latest = ask();
    expect(clients[0]?.given[2]).toBe(latest);
    expect(clients).toHaveLength(2);
    ask();
    expect(clients).toHaveLength(3);
  });

  it('ConnectionPool uses the most recently used connection first', async () => {
    const { clients, ask } = counted(2);
    const [one, other] = [ask(), ask()];
    other.onDone();
    await rested();
    one.onDone();
    await rested();
    ask();
    expect(clients.map(({ given }) => given.length)).toEqual([2, 1]);
  });

  it('ConnectionPool reports no waiting requests if none has waited', async () => {
    const { connections, clients, ask } = counted(1);
    for (let round = 0; round < 3; round++) {
      ask().onDone();
      await rested();
    }
    const [one, other] = [ask(), ask()];
    expect(connections.load).toEqual({ open: 1, waiting: 1 });
    one.onDone();
    await rested();
    expect(clients[0]?.given.at(-1)).toBe(other);
  });

  it('ConnectionPool skips waiting requests that were settled meanwhile', async () => {
    const { connections, clients, ask } = counted(1);
    const first = ask();
    const [gone, also, last] = [ask(), ask(), ask()];
    gone.isSettled = also.isSettled = true;
    first.onDone();
    await rested();
    expect(clients[0]?.given).toEqual([first, last]);
    expect(connections.load).toEqual({ open: 1, waiting: 0 });
  });

  it('ConnectionPool closes surplus connections: idle ones at once, busy ones after their response', async () => {
    const { connections, clients, ask } = counted(4);
    const waiters = [ask(), ask(), ask(), ask()];
    waiters[0]?.onDone();
    waiters[1]?.onDone();
    await rested();
    connections.limit = 3;
    expect(connections.load.open).toBe(3);
    expect(clients.map(({ ended }) => ended)).toEqual([0, 1, 0, 0]);
    connections.limit = 1;
    expect(connections.load.open).toBe(2);
    waiters[2]?.onDone();
    await rested();
    expect(clients.map(({ ended }) => ended)).toEqual([1, 1, 1, 0]);
    waiters[3]?.onDone();
    await rested();
    expect(connections.load.open).toBe(1);
    expect(ask()).toBe(clients[3]?.given[1]);
  });

  it('ConnectionPool opens more connections for waiting requests when the limit rises', () => {
    const { connections, clients, ask } = counted(1);
    const waiters = Array.from({ length: 5 }, ask);
    connections.limit = 3;
    expect(connections.load).toEqual({ open: 3, waiting: 2 });
    expect(clients.map(({ given }) => given[0])).toEqual(waiters.slice(0, 3));
    connections.limit = 9;
    expect(connections.load).toEqual({ open: 5, waiting: 0 });
  });

  it('ConnectionPool counts opened sockets, and accepts the response of a socket that ends', () => {
    const { connections, clients, ask } = counted(1);
    const waiter = ask();
    clients[0]?.events.onOpen();
    clients[0]?.events.onOpen();
    expect(connections.opened).toBe(2);
    clients[0]?.events.onEnd(Promise.resolve('finished'));
    expect(waiter.letGoes).toBe(1);
    waiter.onDone();
    clients[0]?.events.onEnd(Promise.resolve('finished'));
    expect(waiter.letGoes).toBe(1);
  });

  it('ConnectionPool passes an error of undici to the caller', () => {
    const { clients, ask } = counted(1);
    ask().onDone();
    const fault = new Error('no');
    (clients[0] as { fails?: Error }).fails = fault;
    return rested().then(() => expect(ask().errors).toEqual([fault]));
  });

  it('ConnectionPool destroys all clients when it is destroyed', async () => {
    const { connections, clients, ask } = counted(3);
    ask();
    ask();
    await connections.destroy();
    expect(clients.map(({ ended }) => ended)).toEqual([1, 1]);
  });

  it('ConnectionPool keeps the order of any number of waiting requests', async () => {
    const { connections, clients, ask } = counted(1);
    const waiters = Array.from({ length: 3000 }, ask);
    for (const [index, waiter] of waiters.entries()) {
      expect(clients[0]?.given.at(-1)).toBe(waiter);
      expect(connections.load.waiting).toBe(2999 - index);
      waiter.onDone();
      await rested();
    }
    const later = [ask(), ask()];
    expect(clients[0]?.given.at(-1)).toBe(later[0]);
    expect(connections.load).toEqual({ open: 1, waiting: 1 });
  });
});
