import { operationNamed, operations, type OperationData, type OperationName } from './areas';
import { Approval, type Approve, type PlanBy } from './run/approval';
import { keepAt, type KeepOptions } from './areas/contain/keep';
import { countOf, OperationCall } from './run/call';
import type { Shared } from './run/shared';
import { Crowd } from './run/crowd';
import { envelopeOf, failedEnvelope, maskWritten, type RunOf } from './run/envelope';
import { english } from './model/summary';
import { asGatewayError, GatewayError } from './model/error';
import { readInput } from './model/input';
import type { Operation } from './model/operation';
import { Redactor } from './model/redaction';
import { ours, sentence } from './model/sentence';
import { secretsOfInput } from './model/secrets';
import { Recent } from './run/recent';
import { secretsOfSettings } from './model/secrets-of-settings';
import type { Sender } from './run/sender';
import { permitOf, refuseForbidden, type Permit } from './run/permissions';
import { Pin } from './run/pin';
import { tell, type Told } from './run/told';
import type { Gate } from './run/write';
import { removeIfThere } from './change/missing-ok';
import type { AroundWrite } from './run/writes';
import type { Texts } from './snapshot/texts';
import { aroundWrites } from './gateway-writes';
import type { OptionsOf, Outcome, RunArguments, RunOptions } from './gateway-options';
import { keySharingOf } from './login/account';
import { Session } from './login/session';
import { checkSettings, type CheckedSettings, type Settings } from './model/settings';
import type { Handshake } from './http/served';
import type { Exchanged } from './http/history';
import { Transport } from './http/transport';
import { counterValues, type CounterValues } from './model/counters';
import { Canceller, type Cancellable } from './model/cancelling';
import { processCoordination } from './model/process-coordination';

export type { Outcome, RunArguments, RunOptions } from './gateway-options';
export type GatewayOptions = OptionsOf<Gateway>;

/** What a run has that is part of something else. */
interface PartOf {
  /** Of the run that it plans for. */
  readonly gate: Gate;
  readonly sender: Sender;
  /** What is done in place of what the operation does. */
  readonly perform: Perform;
}

type Perform = (input: ReturnType<typeof readInput>, call: OperationCall) => Promise<unknown>;

/**
 * One appliance: `new Gateway(settings).run('sessions.list', { name })`. Keeps connections and the API key between calls.
 * The constructor throws `BAD_CONFIG`; nothing is loaded or sent before the first `run`.
 */
export class Gateway {
  readonly #settings: CheckedSettings;
  readonly #redactor: Redactor;
  readonly #shared: Shared;
  readonly #others: GatewayOptions['others'];
  readonly #permit: Permit | undefined;
  /** Undefined where any number may wait. */
  readonly #crowd: Crowd | undefined;
  #running = 0;

  constructor(settings: Settings, { coordination = processCoordination, ownLogin, others, onExchange, host }: GatewayOptions = {}) {
    this.#settings = settingsOf(settings);
    this.#redactor = new Redactor().add(...secretsOfSettings(this.#settings));
    // To prove that an address can be reached, a connection that is open proves nothing.
    const { name, log } = this.#settings;
    const told = log === true && onExchange ? (exchange: Exchanged): void => onExchange(exchange, name) : undefined;
    const transport = new Transport(this.#settings, ownLogin ? undefined : keySharingOf(this.#settings), told);
    const session = new Session(this.#settings, transport, this.#redactor, coordination, { ownLogin });
    const { pin, permissions, connections, waiting } = this.#settings;
    this.#shared = {
      settings: this.#settings,
      session,
      transport,
      facts: new Map(),
      coordination,
      recent: new Recent(),
      host,
      pin: pin === undefined ? undefined : new Pin(pin),
    };
    this.#permit = permitOf(permissions);
    this.#crowd = waiting === undefined ? undefined : new Crowd(connections, waiting);
    this.#others = others;
  }

  get name(): string {
    return this.#settings.name;
  }

  /** What was sent since this was made, and how long it took. */
  counters(): CounterValues {
    const { counters, load, opened } = this.#shared.transport;
    return counterValues(counters, { ...load, opened });
  }

  /** The latest exchanges, two hundred at most, the newest last. Names in their addresses are `*`. */
  exchanges(): Exchanged[] {
    return this.#shared.transport.history.list();
  }

  /** Whether any run is under way. */
  get busy(): boolean {
    return this.#running > 0;
  }

  /**
   * Runs one operation by its full name (`sessions.kill`). Rejects only with a `GatewayError` whose `cause` is the envelope with
   * `ok: false`. Shapes of data and envelope: contract, section 4. With `onPart` there may be no data: it went out in parts.
   */
  run<N extends OperationName>(name: N, ...more: RunArguments<N, RunOptions & { onPart?: undefined }>): Promise<Outcome<OperationData<N>>>;
  run<N extends OperationName>(name: N, ...more: RunArguments<N, RunOptions>): Promise<Outcome<OperationData<N> | undefined>>;
  /** The same for a name that is known only when it runs. */
  run<S extends string>(
    name: string extends S ? S : never,
    input?: Readonly<Record<string, unknown>>,
    options?: RunOptions | AbortSignal,
  ): Promise<Outcome>;
  run(given: string, input: Readonly<Record<string, unknown>> = {}, options: RunOptions | AbortSignal | null = {}): Promise<Outcome> {
    // A script may give anything, and what is no text has no place in an envelope: there is no operation of no name either.
    const name = typeof given === 'string' ? given : '';
    const how: RunOptions = options instanceof AbortSignal ? { signal: options } : (options ?? {});
    if (!(how.signal instanceof AbortSignal)) return this.#run(name, input, how);
    const stop = new Canceller();
    const leave = stop.follow(how.signal);
    return this.#run(name, input, { ...how, signal: stop }).finally(leave);
  }

  async #run(name: string, input: Readonly<Record<string, unknown>>, options: RunOptions, part: Partial<PartOf> = {}): Promise<Outcome> {
    const { signal, onPart, onProgress, say = english } = options;
    const dryRun = options.dryRun === true || this.#settings.dryRun === true;
    const known = operations.get(name);
    const writes = known?.effect !== 'read';
    // What plans for another run is counted with that.
    const crowd = part.gate ? undefined : this.#crowd;
    const approval = options.approve && writes && !dryRun ? new Approval(unhurried(options.approve, crowd)) : undefined;
    const run: RunOf = { operation: name, appliance: this.name, writes, started: performance.now() };
    const redactor = this.#redactor.with(secretsOfInput(known?.fields, input));
    const told: Told = { name, operation: known, input, redactor, say };
    let proves = true;
    let standing: AroundWrite | undefined;
    const around: AroundWrite = (write, proceed) => {
      standing ??= aroundWrites({ shared: this.#shared, operation: name, redactor, by: options.by }, call, proves);
      return standing(write, proceed);
    };
    const call: OperationCall = new OperationCall(this.#shared, {
      dryRun,
      around: dryRun ? undefined : around,
      signal,
      onEmit:
        onPart &&
        ((data, part, so) =>
          onPart(data, part, Object.assign(envelopeOf(run, so), { summary: tell(told, so, { data, count: countOf(data) }) }))),
      onProgress,
      masking: redactor,
      other: this.#others && ((other, work) => this.#at(other, work, signal)),
      gate: part.gate ?? approval,
      permit: this.#permit,
      before: options.beforeWrite,
      sender: part.sender,
      remembers: writes && !dryRun,
    });
    const plan: PlanBy = async (gate) => {
      const { envelope } = await this.#run(name, input, { ...options, dryRun: true }, { gate, sender: call.sender });
      const { summary = '', plan = [], wouldChange } = envelope;
      return { operation: name, appliance: this.name, summary, plan, wouldChange: wouldChange === true };
    };
    let entered = false;
    this.#running++;
    try {
      const operation = operationNamed(name);
      refuseForbidden(name, operation, this.#settings.permissions);
      crowd?.enter();
      entered = true;
      const read = readInput(operation, input);
      proves = read['prove-login'] !== false;
      await approval?.obtain(plan, signal, (approved) => call.note({ approved }));
      const data = await (part.perform ? part.perform(read, call) : this.#perform(operation, read, call));
      return outcomeOf(run, told, call, data);
    } catch (thrown) {
      const error = failureOf(run, told, call, asGatewayError(thrown));
      call.counters.failed(error.code);
      throw error;
    } finally {
      call.end();
      call.counters.runs++;
      if (entered) crowd?.leave();
      this.#running--;
    }
  }

  /**
   * Reads the configuration as `snapshot.take` does, as texts: for whoever looks again and again, and gives what he had `last`. What has
   * not changed is in memory once.
   */
  readConfiguration(
    input: { path?: string; ignore?: string[] } = {},
    last?: Texts,
    options: Pick<RunOptions, 'signal'> = {},
  ): Promise<Outcome<Texts>> {
    const perform: Perform = async (read, call) => (await import('./snapshot/index.js')).readTexts(read, last, call);
    return this.#run('snapshot.take', input, options, { perform }) as Promise<Outcome<Texts>>;
  }

  /** What it says is masked by whoever knows its secrets. */
  async #at<T>(name: string, work: (call: OperationCall) => Promise<T>, signal: Cancellable | undefined): Promise<T> {
    const other = this.#others?.(name);
    if (!other) throw new GatewayError('BAD_INPUT', sentence`There is no appliance of the name ${name}.`);
    try {
      return await work(new OperationCall(other.#shared, { dryRun: true, signal, masking: other.#redactor }));
    } catch (thrown) {
      const error = asGatewayError(thrown);
      const said = ours(other.#redactor.message(error));
      throw new GatewayError(error.code, sentence`${name}: ${said}`, other.#redactor.value(error.details));
    }
  }

  /**
   * Keeps out whoever `contain.contain` has contained at this appliance, until the answer is called: ends each new session within
   * `every` seconds, finishes what was interrupted, and releases at the end. One look serves all who keep at the same appliance in
   * this process; events go to each. Without it nobody is kept out beyond the moment.
   */
  keepContained(options: KeepOptions = {}): () => void {
    const writing = { shared: this.#shared, operation: 'contain.keep', redactor: this.#redactor, by: options.by };
    const around = (call: OperationCall): AroundWrite => aroundWrites(writing, call, false);
    return keepAt(this.#shared, this.#redactor, options, { around, permit: this.#permit });
  }

  /** The certificates that the appliance shows, trusted or not: for whoever is to decide that. Nothing but a handshake is done. */
  handshake(signal?: AbortSignal): Promise<Handshake> {
    return this.#shared.transport.handshake(signal);
  }

  /** Seconds by which the appliance's clock is ahead of ours, as its last answer told; undefined where it told nothing. */
  get clock(): number | undefined {
    return this.#shared.transport.clock;
  }

  /** Aborts everything that is under way and closes all connections. */
  close(): void {
    this.#shared.session.close();
    this.#shared.transport.close();
  }

  #perform(operation: Operation, input: ReturnType<typeof readInput>, call: OperationCall): Promise<unknown> {
    if (operation.run) return operation.run(input, call);
    if (!operation.request) throw new GatewayError('BAD_INPUT', sentence`This operation has nothing to send.`);
    const request = operation.request(input, this.#settings.prefix);
    if (operation.effect !== 'read') return input['missing-ok'] === true ? removeIfThere(request, call) : call.write(request);
    const document = call.read(request);
    return operation.read ? document.then((whole) => operation.read?.(whole, input, (fields) => call.note(fields))) : document;
  }
}

function failureOf(run: RunOf, told: Told, call: OperationCall, error: GatewayError): GatewayError {
  // A new one always: all who wait for one login get the same error, and each has a cause of its own.
  const clean = new GatewayError(error.code, ours(told.redactor.message(error)), error.details);
  clean.cause = failedEnvelope(run, error, call, told.redactor);
  clean.cause.summary = tell(told, call, { code: error.code });
  return clean;
}

function outcomeOf(run: RunOf, told: Told, call: OperationCall, data: unknown): Outcome {
  const { many = null, emitted } = call.record;
  const streamed = emitted !== undefined;
  const envelope = envelopeOf(run, call);
  envelope.summary = tell(told, call, { data });
  if (run.writes) maskWritten(envelope, call, told.redactor);
  if (streamed) return { data: undefined, many: null, envelope, streamed };
  if (many) return { data: many, many, envelope, streamed };
  return { data: run.writes ? told.redactor.value(data) : data, many, envelope, streamed };
}

/** A plan that waits for somebody to approve it is no load. */
function unhurried(approve: Approve, crowd: Crowd | undefined): Approve {
  return crowd ? (proposal) => crowd.outside(() => approve(proposal)) : approve;
}

/** Errors: `BAD_CONFIG`, also for what is no settings at all. */
function settingsOf(settings: Settings): CheckedSettings {
  try {
    return checkSettings(settings);
  } catch (thrown) {
    if (thrown instanceof GatewayError) throw thrown;
    throw new GatewayError('BAD_CONFIG', sentence`The settings cannot be read: one of them is of the wrong kind, or they are no object.`);
  }
}
