import type { Node, NodeAPI } from 'node-red';
import type { RunOutcome } from '../../src/gateway/gateway';
import { GatewayError } from '../../src/model/error';
import type { Area } from '../../src/model/operation';
import type { Translate } from '../../src/model/summary';
import { createEarlyFailureEnvelope } from '../../src/run/envelope';
import { mergeIgnoredProperties } from './control-messages';
import { isGatewayFailure, toPlainFailure, type NodeFailure } from '../message/failure';
import type { DoneCallback } from '../message/on-input';
import type { OutputProperty } from '../message/output-property';
import type { MessageRun } from './message-run';
import { statusForError, type StatusText } from '../status/status-text';
import { removeDeeplyNestedProperties } from '../message/message-depth';
import type { Message } from '../message/typed-value';
import { translatorFor } from '../common/i18n';

/** Ends the messages of one node: at its outputs or at Catch nodes. */
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

  /** Records the result. After a stream only Complete nodes get the message, because its parts were already sent. */
  succeed(
    { message, send, ignored }: MessageRun,
    output: OutputProperty,
    { data, envelope, streamed }: Pick<RunOutcome, 'data' | 'envelope' | 'streamed'>,
  ): void {
    if (ignored) envelope.ignored = mergeIgnoredProperties(envelope.ignored, ignored);
    if (!streamed) output.set(message, data);
    message.envelope = envelope;
    if (isGatewayFailure(message.error)) delete message.error;
    if (!streamed) send(message);
  }

  /** Returns the error with its envelope, which is also in `msg.envelope`. The payload stays, so that a flow can retry. */
  recordFailure({ message, operation, appliance, ignored }: MessageRun, thrown: GatewayError): GatewayError {
    // An error that several messages share must not carry the envelope of another message.
    const error = thrown.cause ? thrown : new GatewayError(thrown.code, thrown.safeMessage, thrown.details);
    const cause = (error.cause ??= createEarlyFailureEnvelope(
      operation,
      appliance,
      error,
      this.#operationTitle(operation),
      this.translate,
    ));
    if (ignored) cause.ignored = mergeIgnoredProperties(cause.ignored, ignored);
    removeDeeplyNestedProperties(message);
    message.envelope = cause;
    return error;
  }

  /** Reports the failure of one of many appliances. The message itself continues. */
  failAppliance({ send }: MessageRun, copy: Message, failure: NodeFailure): void {
    if (!this.#hasFailureOutput) return this.#node.error(failure, copy);
    copy.error = failure;
    send([null, copy]);
  }

  /** Ends the message exactly once: with `done`, or with the error at the configured place. */
  finish({ message, send }: MessageRun, done: DoneCallback, error: GatewayError | undefined): void {
    if (error && this.#hasFailureOutput) {
      message.error = toPlainFailure(error);
      send([null, message]);
    }
    done(this.#hasFailureOutput || !error ? undefined : toPlainFailure(error));
  }

  /** Returns the status text of a failure, with the field labels of the dialog. */
  statusFor({ operation }: MessageRun, error: GatewayError): StatusText {
    return statusForError(error, (field, label) => this.#fieldLabel(operation, field, label));
  }

  /** Returns the label of the operation, or of the area before an operation is selected. */
  #operationTitle(operation: string): string {
    const [area = '', operationName] = operation.split('.');
    const chosen = operationName === undefined ? undefined : this.#area.operations[operationName];
    return chosen
      ? this.translate(`${area}.operation.${operationName}.label`, chosen.label, {})
      : this.translate(`${area}.label`, this.#area.label, {});
  }

  /** Returns the label of a field. An operation can have its own label for a shared field. */
  #fieldLabel(operation: string, field: string, label: string): string {
    const [area = '', operationName = ''] = operation.split('.');
    const areaLabel = this.translate(`${area}.field.${field}.label`, label, {});
    return this.translate(`${area}.operation.${operationName}.field.${field}.label`, areaLabel, {});
  }
}
