import https from 'node:https';
import tls from 'node:tls';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../src/simulator/index';

/**
 * A bare HTTPS client for the tests of the simulator: no code of the package's own client, so that a mistake made on
 * both sides can't cancel itself out. TLS is verified against the simulator's certificate.
 */
export interface Answer {
  status: number;
  headers: NodeJS.Dict<string | string[]>;
  text: string;
  /** The body as JSON; undefined when it is none. */
  json: unknown;
}

export interface Sent {
  body?: unknown;
  /** `user:password`; the key of the last login when absent, nothing when null. */
  auth?: string | null;
  headers?: Record<string, string>;
  localAddress?: string;
}

export type Result = { result: Record<'info' | 'warnings' | 'errors', { message: string }[] | undefined> };

export class Client {
  key = '';
  private readonly agent: https.Agent;

  constructor(readonly simulator: Simulator) {
    this.agent = new https.Agent({ keepAlive: true, ca: simulator.ca, rejectUnauthorized: true });
  }

  async send(method: string, path: string, sent: Sent = {}): Promise<Answer> {
    const { hostname, port } = new URL(this.simulator.url);
    const body =
      sent.body === undefined
        ? undefined
        : typeof sent.body === 'string' || Buffer.isBuffer(sent.body)
          ? sent.body
          : JSON.stringify(sent.body);
    const auth = sent.auth === undefined ? `${this.key}:` : sent.auth;
    const headers: Record<string, string | number> = {
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    };
    if (auth !== null) headers.authorization = `Basic ${Buffer.from(auth).toString('base64')}`;
    Object.assign(headers, sent.headers);
    const options = {
      method,
      hostname,
      port,
      path,
      headers,
      agent: sent.localAddress ? undefined : this.agent,
      ca: this.simulator.ca,
      localAddress: sent.localAddress,
    };
    return new Promise((resolve, reject) => {
      const request = https.request(options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: parse(text) });
        });
      });
      request.on('error', reject);
      request.end(body);
    });
  }

  async login(realm = 'Admin Users', auth = 'api-admin:simulator'): Promise<Answer> {
    const answer = await this.send('POST', '/api/v1/realm_auth', { body: { realm }, auth });
    const { api_key: key } = (answer.json ?? {}) as { api_key?: string };
    if (key !== undefined) this.key = key;
    return answer;
  }

  get = (path: string): Promise<Answer> => this.send('GET', path);
  delete = (path: string): Promise<Answer> => this.send('DELETE', path);
  post = (path: string, body: unknown, headers?: Record<string, string>): Promise<Answer> =>
    this.send('POST', path, { body, ...(headers ? { headers } : {}) });
  put = (path: string, body: unknown, headers?: Record<string, string>): Promise<Answer> =>
    this.send('PUT', path, { body, ...(headers ? { headers } : {}) });

  /** Bytes on a fresh connection, for what node's own client refuses to send; the first line of the answer comes back with its body. */
  raw(bytes: Buffer): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = tls.connect({ host: '127.0.0.1', port: this.simulator.port, ca: this.simulator.ca });
      let text = '';
      socket.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
      socket.on('error', reject);
      socket.on('close', () => resolve(text));
      socket.end(bytes);
    });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const messages = (answer: Answer, list: 'info' | 'warnings' | 'errors'): string[] =>
  ((answer.json as Result).result[list] ?? []).map(({ message }) => message);

const running: Simulator[] = [];

/** A simulator and a client that is logged in unless a second factor or a refusal stands in the way. */
export async function start(options: SimulatorOptions = {}): Promise<Client> {
  const simulator = await startSimulator(options);
  running.push(simulator);
  const client = new Client(simulator);
  await client.login(options.realm, `${options.username ?? 'api-admin'}:${options.password ?? 'simulator'}`);
  return client;
}

export async function stopAll(): Promise<void> {
  await Promise.all(running.splice(0).map((simulator) => simulator.close()));
}
