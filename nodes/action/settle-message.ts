import type { Node, NodeAPI } from 'node-red';
import type { RunOutcome } from '../../src/gateway';
import { GatewayError } from '../../src/model/error';
import type { Area } from '../../src/model/operation';
import type { Translate } from '../../src/model/summary';
import { createEarlyFailureEnvelope } from '../../src/run/envelope';
import { mergeIgnored } from './control-messages';
import { isGatewayFailure, toPlainFailure, type Failure } from '../message/failure';
import type { DoneCallback } from '../message/on-input';
import type { OutputProperty } from '../message/output-property';
import type { MessageRun } from './message-run';
import { statusForError, type StatusText } from '../status/status-text';
import type { Message } from '../message/typed-value';
import { translatorFor } from '../common/i18n';

/** How the messages of one node end: on its outputs, or at Catch nodes. */
export class MessageSettler {
  readonly translate: Translate;
  readonly #node: Node;
  readonly #area: Area;
  readonly #hasFailureOutput: boolean;

  constructor(red: NodeAPI, node: Node, area: Area, hasFailureOutput: boolean) {
    this.translate = translatorFor(red);
    this.#node = node;
    this.#area = area;
    this.#hasFailureOutput = hasFailureOutput;
  }

  /** What streamed has gone out; a Complete node still gets the message itself, with the envelope of the whole. */
  succeed(
    { message, send, ignored }: MessageRun,
    output: OutputProperty,
    { data, envelope, streamed }: Pick<RunOutcome, 'data' | 'envelope' | 'streamed'>,
  ): void {
    if (ignored) envelope.ignored = mergeIgnored(envelope.ignored, ignored);
    if (!streamed) output.set(message, data);
    message.envelope = envelope;
    if (isGatewayFailure(message.error)) delete message.error;
    if (!streamed) send(message);
  }

  /** The error of this very message, its cause and `msg.envelope` the same; the payload stays, so that a retry is one wire. */
  recordFailure({ message, operation, appliance, ignored }: MessageRun, thrown: GatewayError): GatewayError {
    // An error that is kept for every message must not carry the cause of another one.
    const error = thrown.cause ? thrown : new GatewayError(thrown.code, thrown.safeMessage, thrown.details);
    const cause = (error.cause ??= createEarlyFailureEnvelope(
      operation,
      appliance,
      error,
      this.#operationTitle(operation),
      this.translate,
    ));
    if (ignored) cause.ignored = mergeIgnored(cause.ignored, ignored);
    message.envelope = cause;
    return error;
  }

  /** One of many appliances has failed: it goes the way of failures, and the message goes on. */
  failAppliance({ send }: MessageRun, copy: Message, failure: Failure): void {
    if (!this.#hasFailureOutput) return this.#node.error(failure, copy);
    copy.error = failure;
    send([null, copy]);
  }

  /** The one end of a message: `done`, or the error on the way that the dialog chose, never both. */
  finish({ message, send }: MessageRun, done: DoneCallback, error: GatewayError | undefined): void {
    if (error && this.#hasFailureOutput) {
      message.error = toPlainFailure(error);
      send([null, message]);
    }
    done(this.#hasFailureOutput || !error ? undefined : toPlainFailure(error));
  }

  /** As the status shows it, with the names of fields as the dialog has them. */
  statusFor({ operation }: MessageRun, error: GatewayError): StatusText {
    return statusForError(error, (field, label) => this.#fieldLabel(operation, field, label));
  }

  /** What people call it; before an operation is chosen, the node. */
  #operationTitle(operation: string): string {
    const [area = '', operationName] = operation.split('.');
    const chosen = operationName === undefined ? undefined : this.#area.operations[operationName];
    return chosen
      ? this.translate(`${area}.operation.${operationName}.label`, chosen.label, {})
      : this.translate(`${area}.label`, this.#area.label, {});
  }

  /** What a field is called in the dialog; where an operation words it differently, that has a text of its own. */
  #fieldLabel(operation: string, field: string, label: string): string {
    const [area = '', operationName = ''] = operation.split('.');
    const areaLabel = this.translate(`${area}.field.${field}.label`, label, {});
    return this.translate(`${area}.operation.${operationName}.field.${field}.label`, areaLabel, {});
  }
}
