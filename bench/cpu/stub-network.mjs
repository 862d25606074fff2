// @ts-check
// Replaces the network: an undici whose pools respond from memory in the next turn of the event loop. The rest of undici stays.
import { createRequire } from 'node:module';
import { setImmediate } from 'node:timers';

const SESSION_COUNT = 200;

/** @typedef {{ status: number, headers: Record<string, string>, body: Buffer }} StubResponse */

/**
 * @param {unknown} value
 * @returns {StubResponse}
 */
function json(value) {
  const body = Buffer.from(JSON.stringify(value));
  return { status: 200, headers: { 'content-type': 'application/json', 'content-length': String(body.length) }, body };
}

function createSession(/** @type {number} */ index) {
  return {
    'active-user-name': `Müller ${index}`,
    'agent-type': 'Windows 10 Desktop',
    'authentication-realm': 'Users',
    'endpoint-security-status': 'Not Applicable',
    'login-node': 'node-1',
    'network-connect-ip': `10.1.${index >> 8}.${index & 255}`,
    'network-connect-transport-mode': 'ESP',
    events: 0,
    'session-id': `sid${String(index).padStart(40, '0')}`,
    'user-roles': 'Employees, VPN users',
    'user-sign-in-time': '2026-01-05T08:00:00Z',
  };
}

const sessions = Array.from({ length: SESSION_COUNT }, (_, index) => createSession(index));
const RESPONSES = {
  info: json({
    'system-information': {
      'hardware-model': 'VA-SPE',
      'host-name': 'gateway',
      'software-product': 'Connect Secure',
      'software-version': '22.7R2.3 (build 3431)',
      'serial-number': '0123456789ABCDEF',
    },
  }),
  sessions: json({
    'active-users': {
      'active-user-records': { 'active-user-record': sessions },
      'total-matched-record-number': SESSION_COUNT,
      'total-returned-record-number': SESSION_COUNT,
      'user-login-permission': 'true',
    },
  }),
  role: json({ name: 'Role', description: 'a role', general: { overview: { options: 'enabled' } } }),
  written: json({ result: { info: [{ message: 'Operation succeeded without warning or error!' }] } }),
};

/**
 * @param {string} method
 * @param {string} path
 * @returns {StubResponse}
 */
function respond(method, path) {
  if (method !== 'GET') return RESPONSES.written;
  if (path.includes('active-users')) return RESPONSES.sessions;
  return path.includes('user-role') ? RESPONSES.role : RESPONSES.info;
}

const controller = { pause() {}, resume() {}, abort() {}, aborted: false, paused: false, reason: null };

/** All requests of one turn are answered in the next one. */
/** @type {{ options: import('undici').Dispatcher.DispatchOptions, handler: any }[]} */
let waiting = [];
function respondToAll() {
  const requests = waiting;
  waiting = [];
  for (const { options, handler } of requests) {
    const { status, headers, body } = respond(options.method, options.path);
    handler.onRequestStart(controller);
    handler.onResponseStart(controller, status, headers, 'OK');
    handler.onResponseData(controller, body);
    handler.onResponseEnd(controller, {});
  }
}

/** Stands for `Pool` and, in older versions of this package, for `Client`. */
class StubDispatcher {
  /**
   * @param {import('undici').Dispatcher.DispatchOptions} options
   * @param {object} handler
   */
  dispatch(options, handler) {
    if (waiting.length === 0) setImmediate(respondToAll);
    waiting.push({ options, handler });
    return true;
  }

  once() {}

  destroy() {
    return Promise.resolve();
  }
}

/**
 * Call it before the package sends its first request.
 * @param {string} packageFolder
 */
export function stubNetwork(packageFolder) {
  const undici = createRequire(`${packageFolder}/package.json`)('undici');
  Object.assign(undici, { Pool: StubDispatcher, Client: StubDispatcher });
}
