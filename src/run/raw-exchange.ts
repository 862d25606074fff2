import { randomBytes } from 'node:crypto';
import { createBasicAuthorizationHeader, type Reply } from '../http/exchange';
import type { Transport } from '../http/transport';
import type { Session, SessionApiKey } from '../login/session';
import type { AbortSignalLike } from '../model/abort';
import { GatewayError } from '../model/error';
import type { RawConnection, RawReply, RawRequest } from '../model/raw-exchange';

interface RawDependencies {
  readonly settings: { readonly prefix: string };
  readonly session: Session;
  readonly transport: Transport;
}

/** Sends requests as they are. The only help is one new login after a 401, because a long check may outlive its key. */
export function createRawConnection(
  { settings, session, transport }: RawDependencies,
  onRequest: () => void,
  onLogin: () => void,
  signal: AbortSignalLike | undefined,
): RawConnection {
  let hasRenewedKey = false;

  async function exchange({ method, path, body, ifMatch, isCleanup = false }: RawRequest, authorization: string): Promise<RawReply> {
    onRequest();
    const started = performance.now();
    const reply = await transport.send({
      method,
      path: settings.prefix + path,
      authorization,
      signal: isCleanup ? undefined : signal,
      ...(body && { body: JSON.stringify(body) }),
      ...(ifMatch !== undefined && { headers: { 'if-match': ifMatch } }),
    });
    return toRawReply(reply, performance.now() - started);
  }

  async function sendWithKey(request: RawRequest, key: SessionApiKey): Promise<RawReply> {
    const reply = await exchange(request, key.authorization);
    session.recordResponse(key, reply.status);
    return reply;
  }

  return {
    async send(request) {
      const { credentials = 'session' } = request;
      if (credentials === 'none') return exchange(request, '');
      if (credentials === 'made-up-key') return exchange(request, createBasicAuthorizationHeader(randomBytes(32).toString('base64'), ''));
      if (credentials !== 'session') return exchange(request, createBasicAuthorizationHeader(credentials.username, credentials.password));
      // Items that a check created are removed even after it was canceled.
      const loginSignal = request.isCleanup === true ? undefined : signal;
      const key = session.currentKey ?? (await session.key(onLogin, loginSignal));
      const reply = await sendWithKey(request, key);
      if (reply.status !== 401 || hasRenewedKey || !key.isAccepted) return reply;
      hasRenewedKey = true;
      if (!(await session.handleUnauthorized(key))) return reply;
      return sendWithKey(request, await session.key(onLogin, loginSignal));
    },
    get opened() {
      return transport.opened;
    },
    get clockOffsetSeconds() {
      return transport.clockOffsetSeconds;
    },
  };
}

/** Raw exchanges pass no guard, so a request with a valid key must be a read. */
export function toReadOnlyConnection(connection: RawConnection): RawConnection {
  return {
    send: (request) => {
      if (request.method === 'GET' || request.credentials === 'none') return connection.send(request);
      return Promise.reject(
        new GatewayError('BAD_INPUT', 'A raw exchange of an operation can only read. Nothing was sent.', { sent: false }),
      );
    },
    get opened() {
      return connection.opened;
    },
    get clockOffsetSeconds() {
      return connection.clockOffsetSeconds;
    },
  };
}

function toRawReply({ status, contentType, etag, body }: Reply, ms: number): RawReply {
  const text = body.text();
  return { status, contentType, etag, text, bytes: Buffer.byteLength(text), ms };
}
