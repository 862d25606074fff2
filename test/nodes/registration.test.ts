import type { NodeAPI } from 'node-red';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { registerNodes } from '../../nodes/gateway';

type Handler = (this: unknown, ...parameters: unknown[]) => void;

const runtime = { createNode: vi.fn(), handleRequest: vi.fn() };
const loadRuntime = vi.fn(() => ({
  NodeRuntime: function NodeRuntime() {
    return runtime;
  },
}));
const constructors = new Map<string, Handler>();
const handlers = new Map<string, Handler>();

function register(): void {
  const addRoute = (path: string, _guard: unknown, handler: Handler): void => void handlers.set(path, handler);
  const red = {
    nodes: { registerType: (type: string, constructor: Handler) => constructors.set(type, constructor) },
    auth: { needsPermission: () => () => undefined },
    httpAdmin: { get: addRoute, post: addRoute },
  };
  registerNodes(red as unknown as NodeAPI, loadRuntime as unknown as Parameters<typeof registerNodes>[1]);
}

describe('the registration', () => {
  beforeEach(() => {
    vi.clearAllMocks();
    register();
  });

  it('the registration does not load the package while there is no node', () => {
    expect([...constructors.keys()]).toEqual(
      expect.arrayContaining(['gateway-appliance', 'gateway-inventory', 'gateway-sessions', 'gateway-watch']),
    );
    expect(loadRuntime).not.toHaveBeenCalled();
  });

  it('the first node loads the package, and the second node uses it', () => {
    const node = {};
    constructors.get('gateway-sessions')?.call(node, { id: 'n1' });
    constructors.get('gateway-watch')?.call(node, { id: 'n2' });
    expect(runtime.createNode.mock.calls).toEqual([
      [node, 'gateway-sessions', { id: 'n1' }],
      [node, 'gateway-watch', { id: 'n2' }],
    ]);
    expect(loadRuntime).toHaveBeenCalledOnce();
  });

  it('a request of the editor loads the package if there is no node', () => {
    handlers.get('/gateway-appliance/test')?.call(undefined, 'request', 'response');
    expect(runtime.handleRequest.mock.calls).toEqual([['post', '/gateway-appliance/test', 'request', 'response']]);
    expect(loadRuntime).toHaveBeenCalledOnce();
  });
});
