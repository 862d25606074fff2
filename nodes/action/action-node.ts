import type { Node, NodeAPI, NodeDef } from 'node-red';
import type { Gateway, RunOptions } from '../../src/gateway/gateway';
import type { ApplianceTarget } from '../../src/inventory';
import type { Initiator } from '../../src/journal/record-writes';
import { asGatewayError, badInput, GatewayError } from '../../src/model/error';
import { isObject } from '../../src/model/json';
import type { Area } from '../../src/model/operation';
import { trusted, safeMessage } from '../../src/model/safe-message';
import { UnorderedList } from '../../src/model/unordered-list';
import { ApplianceNode, waitForApplianceLists } from '../appliance/appliance-node';
import { readApprovalDecision, type ApprovalDecision } from './approvals';
import { assertNoCancelProperty, isDryRunRequested, readCancelProperty, isStreamingMessage } from './control-messages';
import { logWriteAfterClose } from './log-on-close';
import type { ManyAppliancesRunner } from './many-appliances';
import { emitMetrics } from '../diagnostics/observe';
import type { SelectedOperation } from '../message/operation-selector';
import { MessageSettler } from './settle-message';
import { normalizeMessage, type OutputProperty } from '../message/output-property';
import { describeNodeAndFlow } from '../common/node-origin';
import { ReachabilitySubscription, reportReachability } from '../status/reachability';
import { onInput, type DoneCallback, type SendCallback } from '../message/on-input';
import { waitOrCancel, MessageRun } from './message-run';
import { LastMessage } from '../message/last-message';
import { assertMessageDepth } from '../message/message-depth';
import {
  getTargetAppliance,
  hasFailureOutput,
  hasMissingReference,
  isConfiguredRehearsal,
  parseNodeConfig,
  type NodeConfig,
} from './node-config';
import {
  isEndingSessions,
  statusForError,
  statusForErrorCode,
  statusForManyOutcome,
  statusForOutcome,
  type StatusText,
} from '../status/status-text';
import type { Message } from '../message/typed-value';
import { StatusReporter, type StatusProgress } from '../status/node-status';

/** Node-RED waits 15 s for a node to close, then logs an error. */
const MAX_CLOSE_WAIT_MS = 14_000;
/** A resolved promise, shared by all messages that end at once. */
const DONE = Promise.resolve();

/** The runtime of all action nodes. Their differences are in the operation tables of their areas. */
export class ActionNode {
  readonly #red: NodeAPI;
  readonly #node: Node<Record<string, unknown>>;
  readonly #area: Area;
  readonly #status: StatusReporter;
  readonly #config: NodeConfig | GatewayError;
  readonly #runs = new UnorderedList<MessageRun>();
  readonly #lastMessage: LastMessage;
  readonly #settler: MessageSettler;
  readonly #reachability: ReachabilitySubscription;
  #origin: Initiator | undefined;
  #closed = false;
  #whenIdle: (() => void) | undefined;

  constructor(red: NodeAPI, node: Node<Record<string, unknown>>, area: Area, definition: NodeDef) {
    this.#red = red;
    this.#node = node;
    this.#area = area;
    this.#status = new StatusReporter(red, node);
    this.#reachability = new ReachabilitySubscription(this.#status);
    this.#lastMessage = new LastMessage(node, definition);
    const properties = { ...definition };
    this.#settler = new MessageSettler(red, node, area, hasFailureOutput(properties));
    this.#config = parseNodeConfig({ red, node, area, status: this.#status, hasFailureOutput: hasFailureOutput(properties) }, properties);
    if (this.#config instanceof GatewayError) this.#status.report(statusForError(this.#config, (_field, label) => label));
    else if (hasMissingReference(this.#config)) this.#status.report({ ...statusForErrorCode('BAD_CONFIG'), key: 'no-appliance' });
    if (!(this.#config instanceof GatewayError)) {
      this.#reachability.switchTo(this.#config.applianceId);
      this.#status.setRehearsal(isConfiguredRehearsal(this.#config));
    }
    onInput(node, (message, send, done) => this.#receive(message, send, done));
    // Node-RED waits for `done` only if the handler has exactly two parameters.
    node.on('close', (_removed: boolean, done: () => void) => this.#close(done));
  }

  #receive(received: Message, send: SendCallback, done: DoneCallback): Promise<void> {
    const message = this.#normalize(received);
    const cancelTarget = readCancelProperty(message.cancel);
    if (cancelTarget !== undefined) {
      this.#cancel(cancelTarget);
      done();
      return DONE;
    }
    const run = new MessageRun(message, send, this.#area.name);
    const decision = readApprovalDecision(message);
    if (decision) {
      this.#decide(run, decision, done);
      return DONE;
    }
    this.#lastMessage.record(message);
    this.#runs.add(run);
    this.#status.startRun();
    try {
      return this.#perform(run).then(
        (status) => this.#succeed(run, done, status),
        (thrown) => this.#fail(run, done, thrown),
      );
    } catch (thrown) {
      this.#fail(run, done, thrown);
      return DONE;
    }
  }

  #succeed(run: MessageRun, done: DoneCallback, status: StatusText): void {
    reportReachability(run.applianceId);
    this.#end(run, done, status, undefined);
  }

  #fail(run: MessageRun, done: DoneCallback, thrown: unknown): void {
    let error: GatewayError | undefined;
    let status = statusForErrorCode('BAD_RESPONSE');
    try {
      error = this.#settler.recordFailure(run, asGatewayError(thrown));
      reportReachability(run.applianceId, error);
      status = this.#settler.statusFor(run, error);
    } finally {
      this.#end(run, done, status, error);
    }
  }

  #end(run: MessageRun, done: DoneCallback, status: StatusText, error: GatewayError | undefined): void {
    this.#runs.delete(run);
    this.#status.finishRun(run, status);
    if (this.#closed && run.isWriting) logWriteAfterClose(this.#red, this.#node, run, error ?? 'done');
    emitMetrics(this.#node, run.message);
    this.#conclude(run, done, error);
  }

  /** Handles a message that approves or rejects another message. It has no outcome except a failure. */
  #decide(run: MessageRun, answer: ApprovalDecision, done: DoneCallback): void {
    let error: GatewayError | undefined;
    try {
      const approvals = this.#config instanceof GatewayError ? undefined : this.#config.approvals;
      if (!approvals)
        throw badInput(safeMessage`msg.${trusted(answer.property)} is set, but this node holds no messages for approval: Approval is off.`);
      approvals.decide(answer, run.message.actor);
    } catch (thrown) {
      error = this.#settler.recordFailure(run, asGatewayError(thrown));
    }
    this.#conclude(run, done, error);
  }

  /** Runs one message on one appliance and sends the result to the first output. */
  #perform(run: MessageRun): Promise<StatusText> {
    const { payload } = run.message;
    if (this.#closed)
      throw new GatewayError('ABORTED', 'The node was closing when this message arrived. Nothing was sent.', { sent: false });
    if (typeof payload === 'object' && payload !== null) assertMessageDepth({ payload });
    if (this.#config instanceof GatewayError) throw this.#config;
    const config = this.#config;
    if (config.manyAppliances) return this.#performMany(run, config, config.manyAppliances);
    const pending = config.applianceId === undefined ? waitForApplianceLists() : undefined;
    if (pending) return waitOrCancel(pending, run.abort).then(() => this.#selectOperation(run, config));
    return this.#selectOperation(run, config);
  }

  #selectOperation(run: MessageRun, config: NodeConfig): Promise<StatusText> {
    const appliance = getTargetAppliance(config, run.message);
    run.appliance = appliance.name;
    run.applianceId = appliance instanceof ApplianceNode ? appliance.id : undefined;
    if (!this.#closed) this.#reachability.switchTo(run.applianceId);
    const choice = config.operationSelector.select(run.message);
    if (choice instanceof Promise)
      return waitOrCancel(choice, run.abort).then((selected) => this.#readInput(run, config, appliance, selected));
    return this.#readInput(run, config, appliance, choice);
  }

  #readInput(run: MessageRun, config: NodeConfig, appliance: ApplianceTarget, selected: SelectedOperation): Promise<StatusText> {
    run.operation = selected.name;
    const gateway = appliance.gateway();
    run.appliance = gateway.name;
    this.#status.setRehearsal(gateway.isRehearsal);
    config.enforcement?.enforceAt(appliance);
    const options = this.#prepare(run, config, selected);
    const values = selected.inputReader.read(run.message);
    if (values instanceof Promise)
      return waitOrCancel(values, run.abort).then((input) => this.#run(run, config, gateway, selected, input, options));
    return this.#run(run, config, gateway, selected, values, options);
  }

  #run(
    run: MessageRun,
    { output }: NodeConfig,
    gateway: Gateway,
    selected: SelectedOperation,
    input: Record<string, unknown>,
    options: RunOptions,
  ): Promise<StatusText> {
    if (isStreamingMessage(selected, input)) options.onPart = this.#partSender(run, output);
    return gateway.run(selected.name, input, options).then((outcome) => {
      output.setContentType(run.message, selected.operation.contentType);
      // The appliance itself can be set to dry run.
      if (outcome.envelope.dryRun) run.isWriting = false;
      this.#settler.succeed(run, output, outcome);
      return statusForOutcome(outcome, run.sentCount);
    });
  }

  /** Runs one message on all selected appliances. The message then has one result per appliance. */
  async #performMany(run: MessageRun, config: NodeConfig, manyAppliances: ManyAppliancesRunner): Promise<StatusText> {
    const { message, abort } = run;
    const { operationSelector, output, enforcement } = config;
    const choice = operationSelector.select(message);
    const selectedOperation = choice instanceof Promise ? await waitOrCancel(choice, abort) : choice;
    run.operation = selectedOperation.name;
    const { targets, selection } = await manyAppliances.select(message, selectedOperation.operation.effect, abort);
    run.appliance = selection;
    for (const target of targets) enforcement?.tryEnforceAt(target);
    const outcome = await manyAppliances.perform({
      ...{ message, selectedOperation, output, targets, selection, abort },
      options: this.#prepare(run, config, selectedOperation),
      send: (copy) => {
        run.sentCount++;
        run.send(copy);
      },
      onFailure: (copy, failure) => this.#settler.failAppliance(run, copy, failure),
      onProgress: (progress) => this.#progress(run, { state: 'appliances', ...progress }),
    });
    this.#settler.succeed(run, output, { ...outcome, streamed: false });
    return statusForManyOutcome(outcome);
  }

  /** Checks the message before anything is sent, and returns the run options. */
  #prepare(
    run: MessageRun,
    { output, dryRun, approvals }: NodeConfig,
    { operation, inputReader, removalRefusal }: SelectedOperation,
  ): RunOptions {
    const { message, send, abort } = run;
    output.assertWritable(message);
    const isWrite = operation.effect !== 'read';
    const options = this.#runOptions(run, dryRun);
    options.removalRefusal = removalRefusal;
    if (approvals)
      options.approve = approvals.createApprove({
        ...{ applianceId: run.applianceId, message, output, signal: abort, send, status: this.#status, run },
      });
    run.isWriting = isWrite && options.dryRun !== true;
    if (isWrite && isObject(message.payload)) run.ignored = inputReader.findIgnored(message.payload);
    return options;
  }

  #progress(run: MessageRun, progress: StatusProgress): void {
    if (run.index >= 0) this.#status.updateProgress(run, progress);
  }

  /** Sends each part of a stream as a separate message. */
  #partSender(run: MessageRun, output: OutputProperty): NonNullable<RunOptions['onPart']> {
    const id = this.#red.util.generateId();
    return (data, part, envelope) => {
      const copy = output.copy(run.message);
      output.set(copy, data);
      copy.envelope = envelope;
      copy.parts = { id, type: 'array', ...part } as NonNullable<Message['parts']>;
      run.sentCount++;
      run.send(copy);
    };
  }

  #conclude(run: MessageRun, done: DoneCallback, error: GatewayError | undefined): void {
    try {
      this.#settler.finish(run, done, error);
    } finally {
      if (this.#runs.items.length === 0) this.#whenIdle?.();
    }
  }

  #cancel(cancelTarget: true | string): void {
    for (const { message, abort } of [...this.#runs.items]) if (cancelTarget === true || message._msgid === cancelTarget) abort.abort();
  }

  #close(done: () => void): void {
    this.#closed = true;
    this.#lastMessage.close();
    this.#reachability.close();
    this.#status.close();
    if (!(this.#config instanceof GatewayError)) this.#config.enforcement?.close();
    if (this.#runs.items.length === 0) return done();
    const timer = setTimeout(() => {
      for (const run of this.#runs.items) if (run.isWriting) logWriteAfterClose(this.#red, this.#node, run, 'under-way');
      done();
    }, MAX_CLOSE_WAIT_MS).unref();
    this.#whenIdle = () => {
      clearTimeout(timer);
      done();
    };
    this.#cancel(true);
  }

  /** Returns a message that the node can write to. Errors in the message are reported when the run starts. */
  #normalize(message: Message): Message {
    try {
      if (!(this.#config instanceof GatewayError)) return this.#config.output.normalize(message);
    } catch {
      // The message cannot have this property. The run reports it.
    }
    return normalizeMessage(message, []);
  }

  /** Returns the options of a run. Errors: `BAD_INPUT` if `msg.cancel` or `msg.dryRun` has an ambiguous value. */
  #runOptions(run: MessageRun, dryRun: boolean): RunOptions {
    assertNoCancelProperty(run.message.cancel);
    const onProgress: RunOptions['onProgress'] = (progress) =>
      this.#progress(run, { ...progress, isEndingSessions: isEndingSessions(run.operation) });
    return {
      signal: run.abort,
      dryRun: isDryRunRequested(run.message.dryRun) || dryRun,
      onProgress,
      translate: this.#settler.translate,
      initiator: this.#initiator(run.message),
    };
  }

  /** The initiator that the journal records. Messages without an actor share one object. */
  #initiator({ actor }: Message): Initiator {
    const origin = (this.#origin ??= describeNodeAndFlow(this.#red, this.#node));
    return typeof actor === 'string' && actor !== '' ? { node: origin.node, flow: origin.flow, actor } : origin;
  }
}
