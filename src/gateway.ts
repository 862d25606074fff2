import { getOperation, operations, type OperationData, type OperationName } from './areas';
import { Approval, type RequestApproval, type CreateProposal } from './run/approval';
import { startGatewayEnforcement, type EnforcementOptions } from './areas/contain/gateway-enforcement';
import { countRecords, RunContext } from './run/run-context';
import type { GatewayContext } from './run/gateway-context';
import { InFlightLimit } from './run/in-flight-limit';
import { createEnvelope, createRunFailureEnvelope, redactWriteEnvelope, type RunInfo } from './run/envelope';
import { defaultTranslate } from './model/summary';
import { asGatewayError, GatewayError } from './model/error';
import { parseInput } from './model/input';
import type { Operation } from './model/operation';
import { Redactor } from './model/redaction';
import { trusted, safeMessage } from './model/safe-message';
import { findInputSecrets } from './model/secrets';
import { ReadCache } from './run/read-cache';
import { listSettingsSecrets } from './model/settings-secrets';
import type { Sender } from './run/sender';
import { createPermissionCheck, assertOperationAllowed, type CheckPermission } from './run/permissions';
import { IdentityPin } from './run/identity-pin';
import { summarizeRun, type SummaryContext } from './run/summarize-run';
import type { WriteGate } from './run/pending-write';
import { deleteIfExists } from './change/if-exists';
import type { WriteInterceptor } from './run/write-runner';
import type { SerializedTree } from './snapshot/serialized-tree';
import { createWriteInterceptor } from './write-interceptors';
import type { GatewayOptionsFor, RunOutcome, RunArguments, RunOptions } from './gateway-options';
import { sessionKey } from './login/account-state';
import { Session } from './login/session';
import { checkSettings, type CheckedSettings, type Settings } from './model/settings';
import type { Handshake } from './http/peer-certificate';
import type { ExchangeLogEntry } from './http/exchange-log';
import { Transport } from './http/transport';
import { counterValues, type CounterValues } from './model/counters';
import { LightAbortController, type AbortSignalLike } from './model/abort';
import { processCoordination } from './model/process-coordination';

export type { RunOutcome, RunArguments, RunOptions } from './gateway-options';
export type GatewayOptions = GatewayOptionsFor<Gateway>;

/** What a run has that is part of something else. */
interface RunOverrides {
  /** Of the run that it plans for. */
  readonly gate: WriteGate;
  readonly sender: Sender;
  /** What is done in place of what the operation does. */
  readonly perform: PerformOperation;
}

type PerformOperation = (input: ReturnType<typeof parseInput>, call: RunContext) => Promise<unknown>;

/**
 * One appliance: `new Gateway(settings).run('sessions.list', { name })`. Keeps connections and the API key between calls.
 * The constructor throws `BAD_CONFIG`; nothing is loaded or sent before the first `run`.
 */
export class Gateway {
  readonly #settings: CheckedSettings;
  readonly #redactor: Redactor;
  readonly #context: GatewayContext;
  readonly #resolveAppliance: GatewayOptions['resolveAppliance'];
  readonly #checkPermission: CheckPermission | undefined;
  /** Undefined where any number may wait. */
  readonly #inFlightLimit: InFlightLimit | undefined;
  #runningCount = 0;

  constructor(
    settings: Settings,
    { coordination = processCoordination, isolatedLogin, resolveAppliance, onExchange, hostInfo }: GatewayOptions = {},
  ) {
    this.#settings = validateSettings(settings);
    this.#redactor = new Redactor().add(...listSettingsSecrets(this.#settings));
    // To prove that an address can be reached, a connection that is open proves nothing.
    const { name, log } = this.#settings;
    const logExchange = log === true && onExchange ? (exchange: ExchangeLogEntry): void => onExchange(exchange, name) : undefined;
    const transport = new Transport(this.#settings, isolatedLogin ? undefined : sessionKey(this.#settings), logExchange);
    const session = new Session(this.#settings, transport, this.#redactor, coordination, { isolatedLogin });
    const { pin, permissions, connections, waiting } = this.#settings;
    this.#context = {
      settings: this.#settings,
      session,
      transport,
      lookups: new Map(),
      coordination,
      readCache: new ReadCache(),
      hostInfo,
      pin: pin === undefined ? undefined : new IdentityPin(pin),
    };
    this.#checkPermission = createPermissionCheck(permissions);
    this.#inFlightLimit = waiting === undefined ? undefined : new InFlightLimit(connections, waiting);
    this.#resolveAppliance = resolveAppliance;
  }

  get name(): string {
    return this.#settings.name;
  }

  /** What was sent since this was made, and how long it took. */
  counters(): CounterValues {
    const { counters, load, opened } = this.#context.transport;
    return counterValues(counters, { ...load, opened });
  }

  /** The latest exchanges, two hundred at most, the newest last. Names in their addresses are `*`. */
  exchanges(): ExchangeLogEntry[] {
    return this.#context.transport.exchangeLog.list();
  }

  /** Whether any run is under way. */
  get isBusy(): boolean {
    return this.#runningCount > 0;
  }

  /**
   * Runs one operation by its full name (`sessions.kill`). Rejects only with a `GatewayError` whose `cause` is the envelope with
   * `ok: false`. Shapes of data and envelope: contract, section 4. With `onPart` there may be no data: it went out in parts.
   */
  run<N extends OperationName>(
    name: N,
    ...more: RunArguments<N, RunOptions & { onPart?: undefined }>
  ): Promise<RunOutcome<OperationData<N>>>;
  run<N extends OperationName>(name: N, ...more: RunArguments<N, RunOptions>): Promise<RunOutcome<OperationData<N> | undefined>>;
  /** The same for a name that is known only when it runs. */
  run<S extends string>(
    name: string extends S ? S : never,
    input?: Readonly<Record<string, unknown>>,
    options?: RunOptions | AbortSignal,
  ): Promise<RunOutcome>;
  run(rawName: string, input: Readonly<Record<string, unknown>> = {}, options: RunOptions | AbortSignal | null = {}): Promise<RunOutcome> {
    // A script may give anything, and what is no text has no place in an envelope: there is no operation of no name either.
    const name = typeof rawName === 'string' ? rawName : '';
    const runOptions: RunOptions = options instanceof AbortSignal ? { signal: options } : (options ?? {});
    if (!(runOptions.signal instanceof AbortSignal)) return this.#run(name, input, runOptions);
    const controller = new LightAbortController();
    const unfollow = controller.follow(runOptions.signal);
    return this.#run(name, input, { ...runOptions, signal: controller }).finally(unfollow);
  }

  async #run(
    name: string,
    input: Readonly<Record<string, unknown>>,
    options: RunOptions,
    overrides: Partial<RunOverrides> = {},
  ): Promise<RunOutcome> {
    const { signal, onPart, onProgress, translate = defaultTranslate } = options;
    const dryRun = options.dryRun === true || this.#settings.dryRun === true;
    const definition = operations.get(name);
    const isWrite = definition?.effect !== 'read';
    // What plans for another run is counted with that.
    const inFlightLimit = overrides.gate ? undefined : this.#inFlightLimit;
    const approval = options.approve && isWrite && !dryRun ? new Approval(exemptFromLimit(options.approve, inFlightLimit)) : undefined;
    const runInfo: RunInfo = { operation: name, appliance: this.name, isWrite, startedAt: performance.now() };
    const redactor = this.#redactor.with(findInputSecrets(definition?.fields, input));
    const summaryContext: SummaryContext = { name, operation: definition, input, redactor, translate };
    let shouldProveLogin = true;
    let interceptor: WriteInterceptor | undefined;
    const interceptWrite: WriteInterceptor = (write, next) => {
      interceptor ??= createWriteInterceptor(
        { context: this.#context, operation: name, redactor, initiator: options.initiator },
        call,
        shouldProveLogin,
      );
      return interceptor(write, next);
    };
    const call: RunContext = new RunContext(this.#context, {
      dryRun,
      interceptWrite: dryRun ? undefined : interceptWrite,
      signal,
      onEmit:
        onPart &&
        ((data, part, partCall) =>
          onPart(
            data,
            part,
            Object.assign(createEnvelope(runInfo, partCall), {
              summary: summarizeRun(summaryContext, partCall, { data, count: countRecords(data) }),
            }),
          )),
      onProgress,
      masker: redactor,
      onAppliance: this.#resolveAppliance && ((applianceName, work) => this.#onAppliance(applianceName, work, signal)),
      gate: overrides.gate ?? approval,
      checkPermission: this.#checkPermission,
      beforeWrite: options.beforeWrite,
      sender: overrides.sender,
      shouldCacheReads: isWrite && !dryRun,
    });
    const createProposal: CreateProposal = async (gate) => {
      const { envelope } = await this.#run(name, input, { ...options, dryRun: true }, { gate, sender: call.sender });
      const { summary = '', plan = [], wouldChange } = envelope;
      return { operation: name, appliance: this.name, summary, plan, wouldChange: wouldChange === true };
    };
    let hasSlot = false;
    this.#runningCount++;
    try {
      const operation = getOperation(name);
      assertOperationAllowed(name, operation, this.#settings.permissions);
      inFlightLimit?.acquire();
      hasSlot = true;
      const parsedInput = parseInput(operation, input);
      shouldProveLogin = parsedInput['prove-login'] !== false;
      await approval?.obtain(createProposal, signal, (approved) => call.addToEnvelope({ approved }));
      const data = await (overrides.perform ? overrides.perform(parsedInput, call) : this.#perform(operation, parsedInput, call));
      return toOutcome(runInfo, summaryContext, call, data);
    } catch (thrown) {
      const error = createRunError(runInfo, summaryContext, call, asGatewayError(thrown));
      call.counters.countFailure(error.code);
      throw error;
    } finally {
      call.end();
      call.counters.runs++;
      if (hasSlot) inFlightLimit?.release();
      this.#runningCount--;
    }
  }

  /**
   * Reads the configuration as `snapshot.take` does, as texts: for whoever looks again and again, and gives what he had `last`. What has
   * not changed is in memory once.
   */
  readConfiguration(
    input: { path?: string; ignore?: string[] } = {},
    previous?: SerializedTree,
    options: Pick<RunOptions, 'signal'> = {},
  ): Promise<RunOutcome<SerializedTree>> {
    const perform: PerformOperation = async (parsedInput, call) =>
      (await import('./snapshot/index.js')).readSerializedTree(parsedInput, previous, call);
    return this.#run('snapshot.take', input, options, { perform }) as Promise<RunOutcome<SerializedTree>>;
  }

  /** What it says is masked by whoever knows its secrets. */
  async #onAppliance<T>(name: string, work: (call: RunContext) => Promise<T>, signal: AbortSignalLike | undefined): Promise<T> {
    const otherGateway = this.#resolveAppliance?.(name);
    if (!otherGateway) throw new GatewayError('BAD_INPUT', safeMessage`There is no appliance of the name ${name}.`);
    try {
      return await work(new RunContext(otherGateway.#context, { dryRun: true, signal, masker: otherGateway.#redactor }));
    } catch (thrown) {
      const error = asGatewayError(thrown);
      const redactedMessage = trusted(otherGateway.#redactor.message(error));
      throw new GatewayError(error.code, safeMessage`${name}: ${redactedMessage}`, otherGateway.#redactor.value(error.details));
    }
  }

  /**
   * Keeps out whoever `contain.contain` has contained at this appliance, until the answer is called: ends each new session within
   * `every` seconds, finishes what was interrupted, and releases at the end. One look serves all who keep at the same appliance in
   * this process; events go to each. Without it nobody is kept out beyond the moment.
   */
  enforceContainments(options: EnforcementOptions = {}): () => void {
    const interceptedRun = { context: this.#context, operation: 'contain.keep', redactor: this.#redactor, initiator: options.initiator };
    const createInterceptor = (call: RunContext): WriteInterceptor => createWriteInterceptor(interceptedRun, call, false);
    return startGatewayEnforcement(this.#context, this.#redactor, options, { createInterceptor, checkPermission: this.#checkPermission });
  }

  /** The certificates that the appliance shows, trusted or not: for whoever is to decide that. Nothing but a handshake is done. */
  handshake(signal?: AbortSignal): Promise<Handshake> {
    return this.#context.transport.handshake(signal);
  }

  /** Seconds by which the appliance's clock is ahead of ours, as its last answer told; undefined where it told nothing. */
  get clockOffsetSeconds(): number | undefined {
    return this.#context.transport.clockOffsetSeconds;
  }

  /** Aborts everything that is under way and closes all connections. */
  close(): void {
    this.#context.session.close();
    this.#context.transport.close();
  }

  #perform(operation: Operation, input: ReturnType<typeof parseInput>, call: RunContext): Promise<unknown> {
    if (operation.run) return operation.run(input, call);
    if (!operation.request) throw new GatewayError('BAD_INPUT', safeMessage`This operation has nothing to send.`);
    const request = operation.request(input, this.#settings.prefix);
    if (operation.effect !== 'read') return input['missing-ok'] === true ? deleteIfExists(request, call) : call.write(request);
    const document = call.read(request);
    return operation.read ? document.then((body) => operation.read?.(body, input, (fields) => call.addToEnvelope(fields))) : document;
  }
}

function createRunError(runInfo: RunInfo, summaryContext: SummaryContext, call: RunContext, error: GatewayError): GatewayError {
  // A new one always: all who wait for one login get the same error, and each has a cause of its own.
  const redactedError = new GatewayError(error.code, trusted(summaryContext.redactor.message(error)), error.details);
  redactedError.cause = createRunFailureEnvelope(runInfo, error, call, summaryContext.redactor);
  redactedError.cause.summary = summarizeRun(summaryContext, call, { code: error.code });
  return redactedError;
}

function toOutcome(runInfo: RunInfo, summaryContext: SummaryContext, call: RunContext, data: unknown): RunOutcome {
  const { many = null, emittedParts } = call.record;
  const streamed = emittedParts !== undefined;
  const envelope = createEnvelope(runInfo, call);
  envelope.summary = summarizeRun(summaryContext, call, { data });
  if (runInfo.isWrite) redactWriteEnvelope(envelope, call, summaryContext.redactor);
  if (streamed) return { data: undefined, many: null, envelope, streamed };
  if (many) return { data: many, many, envelope, streamed };
  return { data: runInfo.isWrite ? summaryContext.redactor.value(data) : data, many, envelope, streamed };
}

/** A plan that waits for somebody to approve it is no load. */
function exemptFromLimit(approve: RequestApproval, inFlightLimit: InFlightLimit | undefined): RequestApproval {
  return inFlightLimit ? (proposal) => inFlightLimit.withoutSlot(() => approve(proposal)) : approve;
}

/** Errors: `BAD_CONFIG`, also for what is no settings at all. */
function validateSettings(settings: Settings): CheckedSettings {
  try {
    return checkSettings(settings);
  } catch (thrown) {
    if (thrown instanceof GatewayError) throw thrown;
    throw new GatewayError(
      'BAD_CONFIG',
      safeMessage`The settings cannot be read: one of them is of the wrong kind, or they are no object.`,
    );
  }
}
