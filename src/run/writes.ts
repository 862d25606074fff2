import { createHash } from 'node:crypto';
import type { Reply } from '../http/exchange';
import { createEmptyResultLists, type ResultLists, type WriteResult } from '../model/envelope';
import type { JsonObject } from '../model/json';
import { CONFIGURATION_ROOT } from '../model/path';
import type { RawBody } from '../model/operation-context';
import type { Request } from '../model/request';
import type { Upload } from '../model/stream';
import { ACCEPT_ANY_TYPE, AnyResponse } from './any-response';
import { assertLeasesBeforeWrite } from './locks';
import type { PendingWrite } from './pending-write';
import type { RunState } from './run-state';
import type { WriteResponse } from './sender';

/** Runs one write and records its result. */
export async function writeAndRecord(run: RunState, write: PendingWrite): Promise<WriteResult> {
  const { status, result, changed } = await runWrite(run, write);
  run.record.recordWrite(status, result, changed ?? (mayLeaveUnchanged(write) ? null : true));
  return { result };
}

/** Whether a successful write may have sent what the appliance had already. Actions, creations and deletions always change something. */
export function mayLeaveUnchanged({ request: { method, path }, hasUnknownEffect }: PendingWrite): boolean {
  return method !== 'DELETE' && (hasUnknownEffect === true || (method === 'PUT' && path.startsWith(`${CONFIGURATION_ROOT}/`)));
}

/** Checks a write, passes it through the interceptors, and sends or plans it. Every write of every operation takes this way. */
export async function runWrite(run: RunState, write: PendingWrite): Promise<WriteResponse> {
  const { record, options } = run;
  const check = options.checkWrite?.(write, run);
  if (check) await check;
  record.recordRequest('write', write.request);
  return options.interceptWrite ? options.interceptWrite(write, () => sendWrite(run, write), run) : sendWrite(run, write);
}

async function sendWrite(
  run: RunState,
  { request, plannedBody, openExchange, parseResult, describeItem }: PendingWrite,
): Promise<WriteResponse> {
  const { plan, sender, options } = run;
  if (plan) {
    plan.add(request, plannedBody, describeItem?.());
    return { status: null, result: createEmptyResultLists() };
  }
  // A login may take long or fail, so it comes before the caller records the write as sent.
  if (options.beforeWrite && !sender.hasKey) await sender.logIn();
  if (run.leases.hasAny) await assertLeasesBeforeWrite(run);
  else if (options.beforeWrite) await options.beforeWrite();
  const { readCache } = run.gatewayContext;
  readCache.invalidate(request.path);
  try {
    return await sender.write(request, openExchange, parseResult);
  } finally {
    // A read during the write may have the old state.
    readCache.invalidate(request.path);
  }
}

/** See `OperationContext.writeAny`. */
export async function writeAny(run: RunState, request: Request, content: RawBody | undefined): Promise<unknown> {
  let response = new AnyResponse();
  const openExchange = () => {
    response = new AnyResponse();
    const headers = { accept: ACCEPT_ANY_TYPE, ...(content && { 'content-type': content.type }) };
    return Promise.resolve({ sink: response, headers, ...(content && { body: content.bytes }) });
  };
  const plannedBody = content && { 'content-type': content.type, bytes: content.bytes.length };
  const digest = content && (() => Promise.resolve(createHash('sha256').update(content.bytes).digest('hex')));
  const parseResult = (reply: Reply): ResultLists => response.readWriteResult(reply);
  const writeResult = await writeAndRecord(run, {
    request,
    openExchange,
    parseResult,
    hasUnknownEffect: true,
    ...(plannedBody && { plannedBody }),
    ...(digest && { digest }),
  });
  return response.document ?? writeResult;
}

/** See `OperationContext.upload`. */
export async function upload(
  run: RunState,
  request: Request,
  plannedBody: JsonObject,
  open: () => Promise<Upload>,
  digest: (() => Promise<string>) | undefined,
): Promise<WriteResult> {
  const opened: Upload[] = [];
  const openExchange = async () => {
    const body = await open();
    opened.push(body);
    return { body: body.body, headers: body.headers, timeoutSeconds: run.gatewayContext.settings.transferTimeout };
  };
  try {
    return await writeAndRecord(run, { request, plannedBody, openExchange, ...(digest && { digest }) });
  } finally {
    // An exchange that was cut off leaves its file open.
    for (const body of opened) body.close();
  }
}
