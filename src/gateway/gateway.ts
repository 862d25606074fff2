import { getOperation, type OperationData, type OperationName } from '../areas';
import { startGatewayEnforcement, type EnforcementOptions } from '../areas/contain/gateway-enforcement';
import { deleteIfExists } from '../change/if-exists';
import type { GatewayOptionsFor, RunOutcome, RunArguments, RunOptions, RunOptionsWithoutParts } from './gateway-options';
import { GatewayRun, type RunEnvironment } from './gateway-run';
import type { ExchangeLogEntry } from '../http/exchange-log';
import type { Handshake } from '../http/peer-certificate';
import { Transport } from '../http/transport';
import { createSharedSessionKey } from '../login/account-state';
import { Session } from '../login/session';
import { LightAbortController, type AbortSignalLike } from '../model/abort';
import { toCounterValues, type CounterValues } from '../model/counters';
import { asGatewayError, GatewayError } from '../model/error';
import type { ParsedInput } from '../model/field';
import { parseInput } from '../model/input';
import type { JsonObject } from '../model/json';
import type { Operation } from '../model/operation';
import { processCoordination } from '../model/process-coordination';
import { RecordSigner } from '../model/record-signer';
import { Redactor } from '../model/redaction';
import { trusted, safeMessage } from '../model/safe-message';
import { checkSettings, isRehearsing, type CheckedSettings, type Settings } from '../model/settings';
import { listSettingsSecrets } from '../model/settings-secrets';
import { Rehearsal } from '../rehearsal/rehearsal';
import type { Approval, ApprovalRecord, Proposal } from '../run/approval';
import { EntityTagSupport } from '../run/entity-tags';
import type { GatewayContext } from '../run/gateway-context';
import { IdentityPin } from '../run/identity-pin';
import { InFlightLimit } from '../run/in-flight-limit';
import type { WriteGuard } from '../run/pending-write';
import { createPermissionCheck, assertOperationAllowed } from '../run/permissions';
import { ReadCache } from '../run/read-cache';
import { RunContext } from '../run/run-context';
import { readConfiguration } from '../snapshot/read-configuration';
import type { ConfigurationTexts } from '../snapshot/configuration-texts';
import { runWriteChecks, createWriteInterceptor } from './write-interceptors';

export type { RunOutcome, RunArguments, RunOptions, RunOptionsWithoutParts } from './gateway-options';
export type GatewayOptions = GatewayOptionsFor<Gateway>;

type Input = Readonly<Record<string, unknown>>;
type PerformOperation = (input: ParsedInput, call: RunContext, operation: Operation) => Promise<unknown>;

/**
 * One appliance: `new Gateway(settings).run('sessions.list', { name })`. It keeps connections and the API key between runs. The constructor
 * throws `BAD_CONFIG`; it loads and sends nothing before the first `run`.
 */
export class Gateway {
  readonly #settings: CheckedSettings;
  readonly #rehearsal: Rehearsal | undefined;
  readonly #redactor: Redactor;
  readonly #context: GatewayContext;
  readonly #resolveAppliance: GatewayOptions['resolveAppliance'];
  readonly #environment: RunEnvironment;
  #runningCount = 0;

  constructor(
    settings: Settings,
    {
      coordination = processCoordination,
      isolatedLogin,
      resolveAppliance,
      onExchange,
      onRunEnd,
      hostInfo,
      stateFolder,
    }: GatewayOptions = {},
  ) {
    const { checkedSettings, rehearsal } = validateSettings(settings);
    this.#settings = checkedSettings;
    this.#rehearsal = rehearsal;
    this.#redactor = new Redactor().add(...listSettingsSecrets(this.#settings));
    if (rehearsal) {
      this.#redactor.add(...listSettingsSecrets(settings));
      rehearsal.join(this);
    }
    // An open connection does not prove that the address can be reached.
    const { name, log } = this.#settings;
    const logExchange = log === true && onExchange ? (exchange: ExchangeLogEntry): void => onExchange(exchange, name) : undefined;
    const accountKey = isolatedLogin ? undefined : createSharedSessionKey(this.#settings);
    const transport = new Transport(this.#settings, accountKey, logExchange, rehearsal && (() => findCopy(rehearsal)));
    const session = new Session(this.#settings, transport, this.#redactor, coordination, { isolatedLogin });
    const { pin, permissions, connections, waiting, signingKey } = this.#settings;
    this.#context = {
      settings: this.#settings,
      session,
      transport,
      lookups: new Map(),
      coordination,
      readCache: new ReadCache(),
      entityTagSupport: new EntityTagSupport(),
      hostInfo,
      stateFolder,
      signer: signingKey === undefined || signingKey === '' ? undefined : new RecordSigner(signingKey),
      pin: pin === undefined ? undefined : new IdentityPin(pin),
    };
    this.#resolveAppliance = resolveAppliance;
    this.#environment = {
      gatewayContext: this.#context,
      redactor: this.#redactor,
      checkPermission: createPermissionCheck(permissions),
      inFlightLimit: waiting === undefined ? undefined : new InFlightLimit(connections, waiting),
      onRunEnd,
      runOnAppliance: resolveAppliance && ((name, work, signal) => this.#onAppliance(name, work, signal)),
    };
  }

  get name(): string {
    return this.#settings.name;
  }

  /** Counts and durations of all requests since the gateway was created. */
  counters(): CounterValues {
    const { counters, load, opened } = this.#context.transport;
    return toCounterValues(counters, { ...load, opened });
  }

  /** The latest 200 exchanges, the newest last. Names in their paths are `*`. */
  exchanges(): ExchangeLogEntry[] {
    return this.#context.transport.exchangeLog.list();
  }

  /** Signs the records of a watch of this appliance. Undefined without a signing key. */
  get signer(): RecordSigner | undefined {
    return this.#context.signer;
  }

  /** Whether all requests go to a copy of the appliance. */
  get isRehearsal(): boolean {
    return this.#rehearsal !== undefined;
  }

  /** Starts the copy of a rehearsal again with its snapshot. Without a rehearsal it does nothing. */
  async resetRehearsal(): Promise<void> {
    await this.#rehearsal?.reset();
    this.#context.lookups.clear();
  }

  /** Whether a run is in flight. */
  get isBusy(): boolean {
    return this.#runningCount > 0;
  }

  /**
   * Runs one operation by its full name (`sessions.kill`). Rejects only with a `GatewayError` whose `cause` is the envelope with `ok:
   * false`. Shapes of data and envelope: contract, section 4. With `onPart`, `data` may be undefined because it was sent in parts.
   */
  run<N extends OperationName>(name: N, ...more: RunArguments<N, RunOptionsWithoutParts>): Promise<RunOutcome<OperationData<N>>>;
  run<N extends OperationName>(name: N, ...more: RunArguments<N, RunOptions>): Promise<RunOutcome<OperationData<N> | undefined>>;
  /** Overload for an operation name that is known only at run time. */
  run<S extends string>(
    name: string extends S ? S : never,
    input?: Readonly<Record<string, unknown>>,
    options?: RunOptions | AbortSignal,
  ): Promise<RunOutcome>;
  run(rawName: string, input: Input = {}, options: RunOptions | AbortSignal | null = {}): Promise<RunOutcome> {
    // A script may pass anything. A name that is not text becomes the unknown operation ''.
    const name = typeof rawName === 'string' ? rawName : '';
    const runOptions: RunOptions = options instanceof AbortSignal ? { signal: options } : (options ?? {});
    if (!(runOptions.signal instanceof AbortSignal)) return this.#run(name, input, runOptions);
    const controller = new LightAbortController();
    const unfollow = controller.follow(runOptions.signal);
    return this.#run(name, input, { ...runOptions, signal: controller }).finally(unfollow);
  }

  #run(name: string, input: Input, options: RunOptions, perform?: PerformOperation): Promise<RunOutcome> {
    return this.#execute(new GatewayRun(this.#environment, name, input, options), perform);
  }

  /** Runs the operation as a dry run whose writes pass through `gate`. It counts its requests with the run that it plans for. */
  async #plan({ name, input, runOptions, context }: GatewayRun, gate: WriteGuard): Promise<Proposal> {
    const environment = { ...this.#environment, inFlightLimit: undefined, onRunEnd: undefined };
    const { envelope } = await this.#execute(new GatewayRun(environment, name, input, runOptions, { gate, sender: context.sender }));
    const { summary = '', plan = [], wouldChange } = envelope;
    return { operation: name, appliance: this.name, summary, plan, wouldChange: wouldChange === true };
  }

  /** Waits only for the approval, if there is one, and for the operation. */
  #execute(run: GatewayRun, perform: PerformOperation = performOperation): Promise<RunOutcome> {
    this.#runningCount++;
    try {
      const operation = getOperation(run.name);
      assertOperationAllowed(run.name, operation, this.#settings.permissions);
      run.acquireSlot();
      const input = (run.parsedInput = parseInput(operation, run.input));
      if (!run.approval) return this.#perform(run, operation, input, perform);
      return this.#obtainApproval(run, run.approval).then(
        () => this.#perform(run, operation, input, perform),
        (thrown) => this.#fail(run, thrown),
      );
    } catch (thrown) {
      return this.#fail(run, thrown);
    }
  }

  #perform(run: GatewayRun, operation: Operation, input: ParsedInput, perform: PerformOperation): Promise<RunOutcome> {
    try {
      return perform(input, run.context, operation).then(
        (result) => this.#succeed(run, input, result),
        (thrown) => this.#fail(run, thrown),
      );
    } catch (thrown) {
      return this.#fail(run, thrown);
    }
  }

  #obtainApproval(run: GatewayRun, approval: Approval): Promise<void> {
    const addApproval = (approved: ApprovalRecord): void => run.context.addToEnvelope({ approved });
    return approval.obtain((gate) => this.#plan(run, gate), run.signal, addApproval);
  }

  #succeed(run: GatewayRun, input: ParsedInput, result: unknown): RunOutcome | Promise<RunOutcome> {
    try {
      const outcome = run.toOutcome(convertDocument(run, input, result));
      this.#end(run);
      run.reportEnd(outcome);
      return outcome;
    } catch (thrown) {
      return this.#fail(run, thrown);
    }
  }

  #fail(run: GatewayRun, thrown: unknown): Promise<RunOutcome> {
    const error = run.toError(thrown);
    run.context.counters.countFailure(error.code);
    this.#end(run);
    run.reportEnd({ data: undefined, envelope: error.cause });
    return Promise.reject(error);
  }

  #end(run: GatewayRun): void {
    run.context.end();
    run.context.counters.runs++;
    run.releaseSlot();
    this.#runningCount--;
  }

  /** Reads the configuration like `snapshot.take`, as serialized texts. With `previous`, unchanged resources share its memory. */
  readConfiguration(
    input: { path?: string; ignore?: string[]; unordered?: string[] } = {},
    previous?: ConfigurationTexts,
    options: Pick<RunOptions, 'signal'> = {},
  ): Promise<RunOutcome<ConfigurationTexts>> {
    return this.#run('snapshot.take', input, options, readConfiguration(previous)) as Promise<RunOutcome<ConfigurationTexts>>;
  }

  /** Runs `work` at another appliance, whose gateway masks its own secrets in errors. */
  async #onAppliance<T>(name: string, work: (call: RunContext) => Promise<T>, signal: AbortSignalLike | undefined): Promise<T> {
    const otherGateway = this.#resolveAppliance?.(name);
    if (!otherGateway)
      throw new GatewayError('BAD_INPUT', safeMessage`No appliance has the name ${name}. Check the name. Nothing was sent.`);
    try {
      return await work(new RunContext(otherGateway.#context, { dryRun: true, signal, masker: otherGateway.#redactor }));
    } catch (thrown) {
      const error = asGatewayError(thrown);
      const redactedMessage = trusted(otherGateway.#redactor.message(error));
      throw new GatewayError(error.code, safeMessage`${name}: ${redactedMessage}`, otherGateway.#redactor.value(error.details));
    }
  }

  /**
   * Enforces the containments of `contain.contain` at this appliance until the returned function is called: it ends new sessions,
   * completes interrupted work and releases expired containments. All callers in this process share one polling loop, and each receives
   * the events.
   */
  enforceContainments(options: EnforcementOptions = {}): () => void {
    const guards = {
      gatewayContext: this.#context,
      name: 'contain.keep',
      redactor: this.#redactor,
      initiator: options.initiator,
      gate: undefined,
      checkPermission: this.#environment.checkPermission,
      shouldProveLogin: false,
    };
    return startGatewayEnforcement(this.#context, this.#redactor, options, {
      check: (write, state) => runWriteChecks(guards, write, state),
      createInterceptor: (call) => createWriteInterceptor(guards, call),
    });
  }

  /** Reads the certificates of the appliance, trusted or not. It sends nothing beyond the TLS handshake. */
  handshake(signal?: AbortSignal): Promise<Handshake> {
    return this.#context.transport.handshake(signal);
  }

  /** Seconds by which the appliance's clock is ahead of ours, from its last response; undefined when unknown. */
  get clockOffsetSeconds(): number | undefined {
    return this.#context.transport.clockOffsetSeconds;
  }

  /** Closes unused connections now instead of after 75 seconds. The API key stays, and the next run connects again. */
  closeIdleConnections(): void {
    this.#context.transport.closeIdleConnections();
  }

  /** Aborts everything in flight and closes all connections. */
  close(): void {
    this.#context.session.close();
    this.#context.transport.close();
    this.#rehearsal?.leave(this);
  }
}

function performOperation(input: ParsedInput, call: RunContext, operation: Operation): Promise<unknown> {
  if (operation.run) return operation.run(input, call);
  if (!operation.request) throw new GatewayError('BAD_INPUT', 'This operation has nothing to send.');
  const request = operation.request(input, call.gatewayContext.settings.prefix);
  if (operation.effect !== 'read') return input['missing-ok'] === true ? deleteIfExists(request, call) : call.write(request);
  return call.read(request);
}

/** Converts the document of a read of one exchange to the data of the operation. */
function convertDocument({ operation, context }: GatewayRun, input: ParsedInput, result: unknown): unknown {
  if (!operation?.read || operation.run || operation.effect !== 'read') return result;
  return operation.read(result as JsonObject, input, (fields) => context.addToEnvelope(fields));
}

async function findCopy(rehearsal: Rehearsal): Promise<Pick<CheckedSettings, 'origin' | 'tls'>> {
  const { origin, ca } = await rehearsal.endpoint();
  return { origin, tls: { ca } };
}

interface ValidSettings {
  readonly checkedSettings: CheckedSettings;
  /** The rehearsal; undefined when the requests go to the appliance itself. */
  readonly rehearsal: Rehearsal | undefined;
}

/** With a rehearsal, the settings reach only its copy. Errors: `BAD_CONFIG`, also when the settings are not an object. */
function validateSettings(settings: Settings): ValidSettings {
  try {
    const rehearsal = isRehearsing(settings) ? Rehearsal.find(settings) : undefined;
    return { checkedSettings: checkSettings(rehearsal ? rehearsal.toSettings(settings) : settings), rehearsal };
  } catch (thrown) {
    if (thrown instanceof GatewayError) throw thrown;
    throw new GatewayError(
      'BAD_CONFIG',
      safeMessage`The settings cannot be read: they are not an object, or a setting has the wrong type.`,
    );
  }
}
