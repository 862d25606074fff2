import type { Node, NodeAPI, NodeDef } from 'node-red';
import type { RunOptions } from '../src/gateway';
import type { Initiator } from '../src/journal/around';
import { Canceller } from '../src/model/cancelling';
import { asGatewayError, badInput, GatewayError } from '../src/model/error';
import { readField } from '../src/model/input';
import { isObject } from '../src/model/json';
import { boolean, type Area } from '../src/model/operation';
import { ours, sentence } from '../src/model/sentence';
import { UnorderedList } from '../src/model/unordered-list';
import { Appliance, appliancesPending } from './appliance';
import { answerOf, type Answer } from './approver';
import { cancelled, isStream } from './asked';
import { tellClosed } from './closing';
import type { Fleet } from './fleet';
import { measure } from './observe';
import type { Chosen } from './operations';
import { Outcomes } from './outcome';
import { owned, type Output } from './output';
import { placeOf } from './place';
import { Following, tellReach } from './reach';
import { onMessage, type Done, type Send } from './receive';
import { beforeSending, type Run } from './run';
import { Seen } from './seen';
import { applianceOf, failsToOutput, isLost, readSetup, type Setup } from './setup';
import { endsSessions, shownFailure, shownMany, shownOutcome, type Last } from './shown';
import type { Message } from './sources';
import { Status, type Progress } from './status';

/** Node-RED waits 15 s for a node to close and then complains. */
const CLOSE_MS = 14_000;
const DRY_RUN = boolean('Dry run', '');

/** The one runtime of all action nodes: what is special about an area stands in its operations. */
export class Action {
  readonly #red: NodeAPI;
  readonly #node: Node<Record<string, unknown>>;
  readonly #area: Area;
  readonly #status: Status;
  readonly #setup: Setup | GatewayError;
  readonly #runs = new UnorderedList<Run>();
  readonly #seen: Seen;
  readonly #outcomes: Outcomes;
  readonly #reach: Following;
  #known: Initiator | undefined;
  #closed = false;
  #whenIdle: (() => void) | undefined;

  constructor(red: NodeAPI, node: Node<Record<string, unknown>>, area: Area, definition: NodeDef) {
    this.#red = red;
    this.#node = node;
    this.#area = area;
    this.#status = new Status(red, node);
    this.#reach = new Following(this.#status);
    this.#seen = new Seen(node, definition);
    const own = { ...definition };
    this.#outcomes = new Outcomes(red, node, area, failsToOutput(own));
    this.#setup = readSetup({ red, node, area, status: this.#status, failsToOutput: failsToOutput(own) }, own);
    if (this.#setup instanceof GatewayError || isLost(this.#setup)) this.#status.report(shownFailure('BAD_CONFIG'));
    if (!(this.#setup instanceof GatewayError)) this.#reach.follow(this.#setup.applianceId);
    onMessage(node, (message, send, done) => this.#receive(message, send, done));
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
      error = this.#outcomes.failure(run, asGatewayError(thrown));
      tellReach(run.applianceId, error);
      shown = this.#outcomes.shown(run, error);
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
      error = this.#outcomes.failure(run, asGatewayError(thrown));
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
    if (pending) await beforeSending(pending, run.abort);
    const appliance = applianceOf(this.#setup, message);
    run.appliance = appliance.name;
    run.applianceId = appliance instanceof Appliance ? appliance.id : undefined;
    if (!this.#closed) this.#reach.follow(run.applianceId);
    const choice = operations.choose(message);
    const chosen = choice instanceof Promise ? await beforeSending(choice, run.abort) : choice;
    run.operation = chosen.name;
    const gateway = appliance.gateway();
    run.appliance = gateway.name;
    keeper?.at(appliance);
    const options = this.#prepare(run, this.#setup, chosen);
    const values = chosen.fields.read(message);
    const input = values instanceof Promise ? await beforeSending(values, run.abort) : values;
    const streams = isStream(chosen, input);
    if (streams) options.onPart = this.#sender(run, output);
    const outcome = await gateway.run(chosen.name, input, options);
    output.declare(message, chosen.operation.contentType);
    // The appliance's own dry run, too.
    if (outcome.envelope.dryRun) run.writes = false;
    this.#outcomes.succeed(run, output, outcome);
    return shownOutcome(outcome, run.sent);
  }

  /** The same at all appliances of a selection; the message leaves with what became of them. */
  async #performMany(run: Run, setup: Setup, fleet: Fleet): Promise<Last> {
    const { message, abort } = run;
    const { operations, output, keeper } = setup;
    const choice = operations.choose(message);
    const chosen = choice instanceof Promise ? await beforeSending(choice, abort) : choice;
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
      fails: (copy, failure) => this.#outcomes.failOne(run, copy, failure),
      onProgress: (progress) => this.#progress(run, { state: 'appliances', ...progress }),
    });
    this.#outcomes.succeed(run, output, { ...outcome, streamed: false });
    return shownMany(outcome);
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

  /** Takes the parts of a stream: each goes out as a message of its own. */
  #sender(run: Run, output: Output): NonNullable<RunOptions['onPart']> {
    const id = this.#red.util.generateId();
    return (data, part, envelope) => {
      const copy = output.copy(run.message);
      output.set(copy, data);
      copy.envelope = envelope;
      copy.parts = { id, type: 'array', ...part } as NonNullable<Message['parts']>;
      run.sent++;
      run.send(copy);
    };
  }

  #conclude(run: Run, done: Done, error: GatewayError | undefined): void {
    try {
      this.#outcomes.conclude(run, done, error);
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
    this.#reach.close();
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

  /** The message as these nodes can write into it. A fault of its own is told later, when there is somebody to tell. */
  #own(message: Message): Message {
    try {
      if (!(this.#setup instanceof GatewayError)) return this.#setup.output.own(message);
    } catch {
      // A property that this message cannot have.
    }
    return owned(message, []);
  }

  /** Errors: `BAD_INPUT` when a message asks for a dry run or a cancellation in words that could mean either. */
  #options(run: Run, dryRun: boolean): RunOptions {
    const { cancel, dryRun: asked } = run.message;
    if (cancel !== undefined && cancel !== null && cancel !== false) {
      throw badInput('msg.cancel has to be true (not a text), or the _msgid of the message to cancel. Nothing was cancelled.');
    }
    const planned = asked !== undefined && asked !== null && readField('msg.dryRun', DRY_RUN, asked) === true;
    const onProgress: RunOptions['onProgress'] = (advance) => this.#progress(run, { ...advance, ends: endsSessions(run.operation) });
    return { signal: run.abort.signal, dryRun: dryRun || planned, onProgress, say: this.#outcomes.say, by: this.#by(run.message) };
  }

  /** Who asks, as a journal tells it. */
  #by({ actor }: Message): Initiator {
    return { ...(this.#known ??= placeOf(this.#red, this.#node)), actor: typeof actor === 'string' && actor !== '' ? actor : undefined };
  }
}
