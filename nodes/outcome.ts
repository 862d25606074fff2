import type { Node, NodeAPI } from 'node-red';
import type { Outcome } from '../src/gateway';
import { GatewayError } from '../src/model/error';
import type { Area } from '../src/model/operation';
import type { Say } from '../src/model/summary';
import { failureEnvelope } from '../src/run/envelope';
import { bothIgnored } from './asked';
import { isOurs, plainFailure, type Failure } from './failure';
import type { Done } from './receive';
import type { Output } from './output';
import type { Run } from './run';
import { shownError, type Last } from './shown';
import type { Message } from './sources';
import { sayIn } from './texts';

/** How the messages of one node end: on its outputs, or at Catch nodes. */
export class Outcomes {
  readonly say: Say;
  readonly #node: Node;
  readonly #area: Area;
  readonly #failsToOutput: boolean;

  constructor(red: NodeAPI, node: Node, area: Area, failsToOutput: boolean) {
    this.say = sayIn(red);
    this.#node = node;
    this.#area = area;
    this.#failsToOutput = failsToOutput;
  }

  /** What streamed has gone out; a Complete node still gets the message itself, with the envelope of the whole. */
  succeed(
    { message, send, ignored }: Run,
    output: Output,
    { data, envelope, streamed }: Pick<Outcome, 'data' | 'envelope' | 'streamed'>,
  ): void {
    if (ignored) envelope.ignored = bothIgnored(envelope.ignored, ignored);
    if (!streamed) output.set(message, data);
    message.envelope = envelope;
    if (isOurs(message.error)) delete message.error;
    if (!streamed) send(message);
  }

  /** The error of this very message, its cause and `msg.envelope` the same; the payload stays, so that a retry is one wire. */
  failure({ message, operation, appliance, ignored }: Run, thrown: GatewayError): GatewayError {
    // An error that is kept for every message must not carry the cause of another one.
    const error = thrown.cause ? thrown : new GatewayError(thrown.code, thrown.sentence, thrown.details);
    const cause = (error.cause ??= failureEnvelope(operation, appliance, error, this.#titleOf(operation), this.say));
    if (ignored) cause.ignored = bothIgnored(cause.ignored, ignored);
    message.envelope = cause;
    return error;
  }

  /** One of many appliances has failed: it goes the way of failures, and the message goes on. */
  failOne({ send }: Run, copy: Message, failure: Failure): void {
    if (!this.#failsToOutput) return this.#node.error(failure, copy);
    copy.error = failure;
    send([null, copy]);
  }

  /** The one end of a message: `done`, or the error on the way that the dialog chose, never both. */
  conclude({ message, send }: Run, done: Done, error: GatewayError | undefined): void {
    if (error && this.#failsToOutput) {
      message.error = plainFailure(error);
      send([null, message]);
    }
    done(this.#failsToOutput || !error ? undefined : plainFailure(error));
  }

  /** As the status shows it, with the names of fields as the dialog has them. */
  shown({ operation }: Run, error: GatewayError): Last {
    return shownError(error, (field, label) => this.#labelOf(operation, field, label));
  }

  /** What people call it; before an operation is chosen, the node. */
  #titleOf(operation: string): string {
    const [area = '', own] = operation.split('.');
    const chosen = own === undefined ? undefined : this.#area.operations[own];
    return chosen ? this.say(`${area}.operation.${own}.label`, chosen.label, {}) : this.say(`${area}.label`, this.#area.label, {});
  }

  /** What a field is called in the dialog; where an operation words it differently, that has a text of its own. */
  #labelOf(operation: string, field: string, label: string): string {
    const [area = '', own = ''] = operation.split('.');
    const usual = this.say(`${area}.field.${field}.label`, label, {});
    return this.say(`${area}.operation.${own}.field.${field}.label`, usual, {});
  }
}
