import type { Reply } from '../http/exchange';
import type { JsonObject } from '../model/json';
import type { ReadOptions } from '../model/operation';
import { CONFIGURATION_ROOT } from '../model/path';
import type { Request } from '../model/request';
import type { Download } from '../model/stream';
import { ACCEPT_ANY_TYPE, AnyResponse } from './any-response';
import { createUnexpectedContentError, readDocument } from './reply';
import type { ExchangeRole } from './run-record';
import type { RunState } from './run-state';

/** See `OperationContext.read`. */
export function readJson(run: RunState, request: Request, { signal, isLookup = false }: ReadOptions): Promise<JsonObject> {
  const role: ExchangeRole = isLookup ? 'look-up' : 'read';
  run.record.recordRequest(role, request);
  const parse = (reply: Reply): JsonObject => {
    run.record.recordStatus(role, reply.status);
    return readDocument(reply);
  };
  const document = run.sender.readReply(request, parse, signal);
  if (run.options.shouldCacheReads && isPlainResourceRead(request)) run.gatewayContext.readCache.set(run.root, request.path, document);
  return document;
}

/** See `OperationContext.readAny`. */
export function readAny(run: RunState, request: Request): Promise<unknown> {
  run.record.recordRequest('read', request);
  return run.sender.read(async (send) => {
    const response = new AnyResponse();
    const reply = await send(request, () => Promise.resolve({ sink: response, headers: { accept: ACCEPT_ANY_TYPE } }));
    run.record.recordStatus('read', reply.status);
    return response.readBody(reply);
  });
}

/** See `OperationContext.download`. */
export function download<T>(run: RunState, request: Request, open: () => Promise<Download<T>>): Promise<T> {
  run.record.recordRequest('read', request);
  return run.sender.read(async (send) => {
    const target = await open();
    try {
      const { accept, sink } = target;
      const extras = { headers: { accept }, sink, timeoutSeconds: run.gatewayContext.settings.transferTimeout };
      const reply = await send(request, () => Promise.resolve(extras));
      run.record.recordStatus('read', reply.status);
      if (!reply.streamed) throw createUnexpectedContentError(reply);
      return await target.finish();
    } catch (thrown) {
      await target.discard();
      throw thrown;
    }
  });
}

/** A plain read of a configuration resource; a query may ask for something else. */
function isPlainResourceRead({ path, query, rawQuery }: Request): boolean {
  return !query && !rawQuery && path.startsWith(CONFIGURATION_ROOT);
}
