import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NodeAPI } from 'node-red';
import { describe, expect, it } from 'vitest';
import { registerNodes } from '../../nodes/gateway';
import * as nodeRuntime from '../../nodes/node-runtime';
import { root } from '../../scripts/tools.mjs';

const METHODS = ['get', 'post', 'put', 'patch', 'delete', 'all', 'use'] as const;

/** The permission of each guard that the stub has made. */
const permissions = new Map<unknown, string>();

/** Registers everything in a stub and returns each route with the permission that its first handler demands. */
function registeredRoutes(): string[] {
  const routes: string[] = [];
  const register =
    (method: string) =>
    (path: string, ...handlers: unknown[]): void =>
      void routes.push(`${method.toUpperCase()} ${path} ${permissions.get(handlers[0]) ?? 'without permission'}`);
  const red = {
    settings: {},
    nodes: { registerType: () => undefined },
    comms: { publish: () => undefined },
    auth: {
      needsPermission: (permission: string) => {
        const guard = (): void => undefined;
        permissions.set(guard, permission);
        return guard;
      },
    },
    httpAdmin: Object.fromEntries(METHODS.map((method) => [method, register(method)])),
  };
  registerNodes(red as unknown as NodeAPI, () => nodeRuntime);
  return routes.sort();
}

/** The routes in the tables of the contract, each with its permission. */
function documentedRoutes(): string[] {
  const contract = readFileSync(join(root, 'docs', 'contract.md'), 'utf8');
  const rows = contract.matchAll(/^\| `([A-Z]+ \/\S+)` \| `([\w.-]+)` \|/gm);
  return [...rows].map(([, route = '', permission = '']) => `${route} ${permission}`).sort();
}

describe('the admin routes', () => {
  it('each admin route is in the contract and demands the permission that the contract names', () => {
    const documented = documentedRoutes();
    expect(documented.length).toBeGreaterThan(15);
    expect(new Set(documented).size).toBe(documented.length);
    expect(registeredRoutes()).toEqual(documented);
  });
});
