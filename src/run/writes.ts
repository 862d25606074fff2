import { createHash } from 'node:crypto';
import type { Reply } from '../http/exchange';
import { asGatewayError } from '../model/error';
import { createEmptyMessageLists, type ResultMessageLists, type WriteResult } from '../model/envelope';
import type { JsonObject } from '../model/json';
import { CONFIGURATION_ROOT } from '../model/path';
import type { RawBody } from '../model/operation-context';
import type { Request } from '../model/request';
import type { Upload } from '../model/stream';
import { ACCEPT_ANY_CONTENT_TYPE, AnyResponseCollector } from './any-response';
import { assertLeasesStillHeld } from './locks';
import type { PendingWrite } from './pending-write';
import type { RunState } from './run-state';
import type { WriteResponse } from './sender';

/** Runs one write and records its result. */
export function writeAndRecord(run: RunState, write: PendingWrite): Promise<WriteResult> {
  return runWrite(run, write).then(({ status, result, changed }) => {
    run.record.recordWrite(status, result, changed ?? (canWriteHaveNoEffect(write) ? null : true));
    return { result };
  });
}

/** Whether a successful write may have sent what the appliance had already. Actions, creations and deletions always change something. */
export function canWriteHaveNoEffect({ request: { method, path }, hasUnknownEffect }: PendingWrite): boolean {
  return method !== 'DELETE' && (hasUnknownEffect === true || (method === 'PUT' && path.startsWith(`${CONFIGURATION_ROOT}/`)));
}

/**
 * Checks a write, passes it through the interceptors, and sends or plans it. Every write of every operation takes this way. A write without
 * checks, interceptors and leases that wait is sent at once.
 */
export function runWrite(run: RunState, write: PendingWrite): Promise<WriteResponse> {
  try {
    const check = run.options.checkWrite?.(write, run);
    return check ? check.then(() => interceptWrite(run, write)) : interceptWrite(run, write);
  } catch (thrown) {
    return Promise.reject(asGatewayError(thrown));
  }
}

function interceptWrite(run: RunState, write: PendingWrite): Promise<WriteResponse> {
  const { record, options } = run;
  record.recordRequest('write', write.request);
  return options.interceptWrite ? options.interceptWrite(write, () => sendWrite(run, write), run) : sendWrite(run, write);
}

function sendWrite(run: RunState, write: PendingWrite): Promise<WriteResponse> {
  const { plan, options, hasLeases } = run;
  if (plan) {
    plan.add(write.request, write.plannedBody, write.describeItem?.());
    return Promise.resolve({ status: null, result: createEmptyMessageLists() });
  }
  return options.beforeWrite || hasLeases ? prepareWrite(run).then(() => sendPrepared(run, write)) : sendPrepared(run, write);
}

async function prepareWrite(run: RunState): Promise<void> {
  const { sender, options } = run;
  // A login may take long or fail, so it comes before the caller records the write as sent.
  if (options.beforeWrite && !sender.hasKey) await sender.logIn();
  if (run.hasLeases) await assertLeasesStillHeld(run);
  else if (options.beforeWrite) await options.beforeWrite();
}

function sendPrepared({ sender }: RunState, { request, openExchange, parseResult }: PendingWrite): Promise<WriteResponse> {
  return sender.write(request, openExchange, parseResult);
}

/** Sends a write of any kind, as `OperationContext.writeAny` describes. */
export async function writeAny(run: RunState, request: Request, content: RawBody | undefined): Promise<unknown> {
  let response = new AnyResponseCollector();
  const openExchange = () => {
    response = new AnyResponseCollector();
    const headers = { accept: ACCEPT_ANY_CONTENT_TYPE, ...(content && { 'content-type': content.type }) };
    return Promise.resolve({ sink: response, headers, ...(content && { body: content.bytes }) });
  };
  const plannedBody = content && { 'content-type': content.type, bytes: content.bytes.length };
  const digest = content && (() => Promise.resolve(createHash('sha256').update(content.bytes).digest('hex')));
  const parseResult = (reply: Reply): ResultMessageLists => response.readWriteResult(reply);
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

/** Writes a streaming body, as `OperationContext.upload` describes. */
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
