import type { Reply } from '../http/exchange';
import type { JsonObject } from '../model/json';
import type { ReadOptions } from '../model/operation';
import { CONFIGURATION_ROOT } from '../model/path';
import type { Request } from '../model/request';
import type { Download } from '../model/stream';
import { ACCEPT_ANY_CONTENT_TYPE, AnyResponseCollector } from './any-response';
import { createUnexpectedContentError, readDocument } from './reply';
import type { ExchangeRole } from './run-record';
import type { RunState } from './run-state';

/** Reads a JSON object, as `OperationContext.read` describes. */
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

/** Reads any response, as `OperationContext.readAny` describes. */
export function readAny(run: RunState, request: Request): Promise<unknown> {
  run.record.recordRequest('read', request);
  return run.sender.read(async (send) => {
    const response = new AnyResponseCollector();
    const reply = await send(request, () => Promise.resolve({ sink: response, headers: { accept: ACCEPT_ANY_CONTENT_TYPE } }));
    run.record.recordStatus('read', reply.status);
    return response.readBody(reply);
  });
}

/** Streams a response into a download, as `OperationContext.download` describes. */
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
