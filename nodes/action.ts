import { ours, sentence } from '../src/model/sentence';
import type { Node, NodeAPI, NodeDef } from 'node-red';
import { UnorderedList } from '../src/model/unordered-list';
import { asGatewayError, badInput, GatewayError } from '../src/model/error';
import type { Outcome, RunOptions } from '../src/gateway';
import type { Initiator } from '../src/journal/around';
import type { Target } from '../src/inventory';
import { failureEnvelope } from '../src/run/envelope';
import { readField } from '../src/model/input';
import { boolean, type Area } from '../src/model/operation';
import type { Say } from '../src/model/summary';
import { applianceById, applianceNamed, appliancesPending } from './appliance';
import { bothIgnored, cancelled, isStream } from './asked';
import { answerOf, Approver, type Answer } from './approver';
import { tellClosed } from './closing';
import { isOurs, plainFailure, type Failure } from './failure';
import { Fleet } from './fleet';
import { fixedFolder, NodeKeeper } from './keeper';
import { measure } from './observe';
import { Operations, type Chosen } from './operations';
import { Output, owned } from './output';
import { badConfig, Properties } from './properties';
import { placeOf } from './place';
import { portsOf } from './rules';
import type { Message } from './sources';
import { followReach, tellReach } from './reach';
import { Seen } from './seen';
import { endsSessions, shownError, shownFailure, shownMany, shownOutcome, type Last } from './shown';
import { Status, type Progress } from './status';
import { isObject } from '../src/model/json';
import { sayIn } from './texts';
import { unlessAborted, Canceller } from '../src/model/cancelling';

type Send = (message: Message | (Message | null)[]) => void;
type Done = (error?: Failure) => void;

/** Node-RED waits 15 s for a node to close and then complains. */
const CLOSE_MS = 14_000;
/** A context store that never answers must not keep a message from its outcome. */
const CANCELLED = 'Cancelled before anything was sent.';
const DRY_RUN = boolean('Dry run', '');

/** What the dialog fixes for every message. */
interface Setup {
  readonly operations: Operations;
  readonly output: Output;
  readonly dryRun: boolean;
  /** Undefined: nothing has to be approved. */
  readonly approver: Approver | undefined;
  /** Undefined: nothing happens without a message. */
  readonly keeper: NodeKeeper | undefined;
  /** Undefined: the message names it. */
  readonly applianceId: string | undefined;
  /** Undefined: it is one appliance. */
  readonly fleet: Fleet | undefined;
}

/** One message under way. */
interface Run {
  readonly message: Message;
  readonly send: Send;
  readonly abort: Canceller;
  operation: string;
  appliance: string;
  /** It changes the appliance, and no dry run is asked for. */
  writes: boolean;
  /** Names of the payload's properties that nothing reads; of a write. */
  ignored?: string[];
  sent: number;
  /** Of the bag of runs. */
  index: number;
  applianceId?: string | undefined;
}

/** The one runtime of all action nodes: what is special about an area stands in its operations. */
export class Action {
  readonly #red: NodeAPI;
  readonly #say: Say;
  readonly #node: Node<Record<string, unknown>>;
  readonly #area: Area;
  readonly #status: Status;
  readonly #setup: Setup | GatewayError;
  readonly #runs = new UnorderedList<Run>();
  readonly #seen: Seen;
  #failsToOutput = false;
  #known: Initiator | undefined;
  #closed = false;
  #whenIdle: (() => void) | undefined;
  #unfollow: (() => void) | undefined;

  constructor(red: NodeAPI, node: Node<Record<string, unknown>>, area: Area, definition: NodeDef) {
    this.#red = red;
    this.#say = sayIn(red);
    this.#node = node;
    this.#area = area;
    this.#status = new Status(red, node);
    this.#seen = new Seen(node, definition);
    this.#setup = this.#read({ ...definition });
    if (this.#setup instanceof GatewayError || this.#isLost(this.#setup)) this.#status.report(shownFailure('BAD_CONFIG'));
    if (!(this.#setup instanceof GatewayError) && this.#setup.applianceId !== undefined)
      this.#unfollow = followReach(this.#setup.applianceId, this.#status);
    node.on('input', (message, send, done) => {
      // Nothing may reject here: it would end Node-RED. Only a fault of Node-RED's own hooks could get this far.
      this.#receive(message, send, done as Done).catch((fault: unknown) => node.error(fault));
    });
    // Node-RED counts the parameters: exactly two, or it does not wait.
    node.on('close', (_removed: boolean, done: () => void) => this.#close(done));
  }

  async #receive(received: Message, send: Send, done: Done): Promise<void> {
    const message = this.#own(received);
    const which = cancelled(message.cancel);
    if (which !== undefined) {
      this.#cancel(which);
      done();
      return;
    }
    const run: Run = { message, send, abort: new Canceller(), operation: this.#area.name, appliance: '', writes: false, sent: 0, index: 0 };
    const answer = answerOf(message);
    if (answer) return this.#answer(run, answer, done);
    this.#seen.keep(message);
    this.#runs.add(run);
    this.#status.begin();
    let error: GatewayError | undefined;
    let shown = shownFailure('BAD_RESPONSE');
    try {
      shown = await this.#perform(run);
      tellReach(run.applianceId);
    } catch (thrown) {
      error = this.#failure(run, asGatewayError(thrown));
      tellReach(run.applianceId, error);
      shown = shownError(error, (field, label) => this.#labelOf(run.operation, field, label));
    } finally {
      this.#runs.delete(run);
      this.#status.settle(run, shown);
      if (this.#closed && run.writes) tellClosed(this.#red, this.#node, run, error ?? 'done');
      measure(this.#node, message);
      this.#conclude(run, done, error);
    }
  }

  /** A message that decides of another one has no outcome of its own but a failure. */
  #answer(run: Run, answer: Answer, done: Done): void {
    let error: GatewayError | undefined;
    try {
      const approver = this.#setup instanceof GatewayError ? undefined : this.#setup.approver;
      if (!approver)
        throw badInput(sentence`msg.${ours(answer.property)} is set, but nothing waits to be approved in this node: its Approval is off.`);
      approver.decide(answer, run.message.actor);
    } catch (thrown) {
      error = this.#failure(run, asGatewayError(thrown));
    }
    this.#conclude(run, done, error);
  }

  /** From the message to its outcome, which leaves through the first output. */
  async #perform(run: Run): Promise<Last> {
    const { message } = run;
    if (this.#closed) throw new GatewayError('ABORTED', 'The node was being closed when this message came.', { sent: false });
    if (this.#setup instanceof GatewayError) throw this.#setup;
    const { operations, output, keeper, fleet } = this.#setup;
    if (fleet) return this.#performMany(run, this.#setup, fleet);
    const pending = this.#setup.applianceId === undefined ? appliancesPending() : undefined;
    if (pending) await unlessAborted(pending, run.abort.signal, CANCELLED);
    const appliance = this.#appliance(this.#setup, message);
    run.appliance = appliance.name;
    run.applianceId = this.#setup.applianceId;
    const choice = operations.choose(message);
    const chosen = choice instanceof Promise ? await unlessAborted(choice, run.abort.signal, CANCELLED) : choice;
    run.operation = chosen.name;
    const gateway = appliance.gateway();
    run.appliance = gateway.name;
    keeper?.at(appliance);
    const options = this.#prepare(run, this.#setup, chosen);
    const values = chosen.fields.read(message);
    const input = values instanceof Promise ? await unlessAborted(values, run.abort.signal, CANCELLED) : values;
    const streams = isStream(chosen, input);
    if (streams) options.onPart = this.#sender(run, output);
    const outcome = await gateway.run(chosen.name, input, options);
    output.declare(message, chosen.operation.contentType);
    // The appliance's own dry run, too.
    if (outcome.envelope.dryRun) run.writes = false;
    this.#succeed(run, output, outcome);
    return shownOutcome(outcome, run.sent);
  }

  /** The same at all appliances of a selection; the message leaves with what became of them. */
  async #performMany(run: Run, setup: Setup, fleet: Fleet): Promise<Last> {
    const { message, abort } = run;
    const { operations, output, keeper } = setup;
    const choice = operations.choose(message);
    const chosen = choice instanceof Promise ? await unlessAborted(choice, abort, CANCELLED) : choice;
    run.operation = chosen.name;
    const { targets, selection } = await fleet.select(message, chosen.operation.effect, abort);
    run.appliance = selection;
    for (const target of targets) keeper?.tryAt(target);
    const outcome = await fleet.perform({
      ...{ message, chosen, output, targets, selection, abort },
      options: this.#prepare(run, setup, chosen),
      send: (copy) => {
        run.sent++;
        run.send(copy);
      },
      fails: (copy, failure) => this.#failsOne(run, copy, failure),
      onProgress: (progress) => this.#progress(run, { state: 'appliances', ...progress }),
    });
    this.#succeed(run, output, { ...outcome, many: null, streamed: false });
    return shownMany(outcome);
  }

  /** One of many appliances has failed: it goes the way of failures, and the message goes on. */
  #failsOne({ send }: Run, copy: Message, failure: Failure): void {
    if (!this.#failsToOutput) return this.#node.error(failure, copy);
    copy.error = failure;
    send([null, copy]);
  }

  /** What is looked at before anything is sent, and how to run it. */
  #prepare(run: Run, { output, dryRun, approver }: Setup, { operation, fields }: Chosen): RunOptions {
    const { message, send, abort } = run;
    output.check(message);
    const writes = operation.effect !== 'read';
    const options = this.#options(run, dryRun);
    options.approve = approver?.asks({ message, output, signal: abort.signal, send, status: this.#status, run });
    run.writes = writes && options.dryRun !== true;
    if (writes && isObject(message.payload)) run.ignored = fields.ignored(message.payload);
    return options;
  }

  #progress(run: Run, progress: Progress): void {
    if (run.index >= 0) this.#status.advance(run, progress);
  }

  /** What streamed has gone out; a Complete node still gets the message itself, with the envelope of the whole. */
  #succeed({ message, send, ignored }: Run, output: Output, { data, envelope, streamed }: Outcome): void {
    if (ignored) envelope.ignored = bothIgnored(envelope.ignored, ignored);
    if (!streamed) output.set(message, data);
    message.envelope = envelope;
    if (isOurs(message.error)) delete message.error;
    if (!streamed) send(message);
  }

  /** Takes the parts of a stream: each goes out as a message of its own. */
  #sender(run: Run, output: Output): NonNullable<RunOptions['onPart']> {
    const id = this.#red.util.generateId();
    return (data, part, envelope) => {
      const copy = output.copy(run.message);
      output.set(copy, data);
      copy.envelope = envelope;
      copy.parts = { id, type: 'array', ...part } as NonNullable<Message['parts']>;
      if (isOurs(copy.error)) delete copy.error;
      run.sent++;
      run.send(copy);
    };
  }

  /** What people call it; before an operation is chosen, the node. */
  #titleOf(operation: string): string {
    const [area = '', own] = operation.split('.');
    const chosen = own === undefined ? undefined : this.#area.operations[own];
    return chosen ? this.#say(`${area}.operation.${own}.label`, chosen.label, {}) : this.#say(`${area}.label`, this.#area.label, {});
  }

  /** What a field is called in the dialog; where an operation words it differently, that has a text of its own. */
  #labelOf(operation: string, field: string, label: string): string {
    const [area = '', own = ''] = operation.split('.');
    const usual = this.#say(`${area}.field.${field}.label`, label, {});
    return this.#say(`${area}.operation.${own}.field.${field}.label`, usual, {});
  }

  /** The error of this very message, its cause and `msg.envelope` the same; the payload stays, so that a retry is one wire. */
  #failure({ message, operation, appliance, ignored }: Run, thrown: GatewayError): GatewayError {
    // An error that is kept for every message must not carry the cause of another one.
    const error = thrown.cause ? thrown : new GatewayError(thrown.code, thrown.sentence, thrown.details);
    const cause = (error.cause ??= failureEnvelope(operation, appliance, error, this.#titleOf(operation), this.#say));
    if (ignored) cause.ignored = bothIgnored(cause.ignored, ignored);
    message.envelope = cause;
    return error;
  }

  /** The one end of a message: `done`, or the error on the way that the dialog chose, never both. */
  #conclude({ message, send }: Run, done: Done, error: GatewayError | undefined): void {
    try {
      if (error && this.#failsToOutput) {
        message.error = plainFailure(error);
        send([null, message]);
      }
      done(this.#failsToOutput || !error ? undefined : plainFailure(error));
    } finally {
      if (this.#runs.items.length === 0) this.#whenIdle?.();
    }
  }

  #cancel(which: true | string): void {
    for (const { message, abort } of [...this.#runs.items]) if (which === true || message._msgid === which) abort.abort();
  }

  #close(done: () => void): void {
    this.#closed = true;
    this.#seen.close();
    this.#unfollow?.();
    this.#status.close();
    if (!(this.#setup instanceof GatewayError)) this.#setup.keeper?.close();
    if (this.#runs.items.length === 0) return done();
    const timer = setTimeout(() => {
      for (const run of this.#runs.items) if (run.writes) tellClosed(this.#red, this.#node, run, 'under-way');
      done();
    }, CLOSE_MS).unref();
    this.#whenIdle = () => {
      clearTimeout(timer);
      done();
    };
    this.#cancel(true);
  }

  #read(definition: Readonly<Record<string, unknown>>): Setup | GatewayError {
    try {
      const properties = new Properties(definition);
      this.#failsToOutput = properties.choice('failures', ['catch', 'output']) === 'output';
      const appliance = properties.text('appliance');
      const byMessage = properties.choice('applianceFrom', ['', 'msg']) === 'msg';
      const inventory = properties.text('inventory');
      if (appliance === undefined && !byMessage && inventory === undefined)
        throw badConfig('No appliance is chosen. Open the node and choose one.');
      // Empty means something here, absent does not.
      const fleet = inventory === undefined ? undefined : new Fleet(this.#red, this.#node, inventory, properties);
      const output = definition.output === '' ? '' : (properties.text('output') ?? 'payload');
      return {
        operations: new Operations(this.#red, this.#node, this.#area, definition),
        output: new Output(this.#red, output),
        dryRun: properties.flag('dryRun'),
        approver: this.#area.dryRun === false ? undefined : approverOf(properties, this.#failsToOutput, this.#area),
        keeper: this.#keeper(properties, appliance, definition.fields, fleet),
        applianceId: appliance,
        fleet,
      };
    } catch (thrown) {
      return asGatewayError(thrown);
    }
  }

  #keeper(properties: Properties, applianceId: string | undefined, fields: unknown, fleet: Fleet | undefined): NodeKeeper | undefined {
    const { events } = this.#area;
    if (!events) return undefined;
    const folder = fixedFolder(this.#red, this.#node, fields);
    return new NodeKeeper(this.#red, this.#node, this.#status, {
      properties,
      ...events,
      failsToOutput: this.#failsToOutput,
      applianceId,
      selected: fleet && (() => fleet.fixed()),
      folder,
    });
  }

  /** The message as these nodes can write into it. A fault of its own is told later, when there is somebody to tell. */
  #own(message: Message): Message {
    try {
      if (!(this.#setup instanceof GatewayError)) return this.#setup.output.own(message);
    } catch {
      // A property that this message cannot have.
    }
    return owned(message, []);
  }

  #isLost({ applianceId, fleet }: Setup): boolean {
    if (fleet) return fleet.isLost;
    return applianceId !== undefined && !applianceById(applianceId);
  }

  #appliance({ applianceId }: Setup, message: Message): Target {
    if (applianceId === undefined) return applianceNamed(message.appliance);
    const appliance = applianceById(applianceId);
    if (!appliance) throw badConfig('The appliance node that this node refers to is missing or disabled. Open the node and choose one.');
    return appliance;
  }

  /** Errors: `BAD_INPUT` when a message asks for a dry run or a cancellation in words that could mean either. */
  #options(run: Run, dryRun: boolean): RunOptions {
    const { cancel, dryRun: asked } = run.message;
    if (cancel !== undefined && cancel !== null && cancel !== false) {
      throw badInput('msg.cancel has to be true (not a text), or the _msgid of the message to cancel. Nothing was cancelled.');
    }
    const planned = asked !== undefined && asked !== null && readField('msg.dryRun', DRY_RUN, asked) === true;
    const onProgress: RunOptions['onProgress'] = (advance) => this.#progress(run, { ...advance, ends: endsSessions(run.operation) });
    return { signal: run.abort.signal, dryRun: dryRun || planned, onProgress, say: this.#say, by: this.#by(run.message) };
  }

  /** Who asks, as a journal tells it. */
  #by({ actor }: Message): Initiator {
    return { ...(this.#known ??= placeOf(this.#red, this.#node)), actor: typeof actor === 'string' && actor !== '' ? actor : undefined };
  }
}

function approverOf(properties: Properties, failsToOutput: boolean, { events }: Area): Approver | undefined {
  if (!properties.flag('approval')) return undefined;
  return new Approver(properties.number('approvalMinutes'), portsOf(failsToOutput, true, events !== undefined).indexOf('approve'));
}
