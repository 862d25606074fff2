import type { NodeAPI } from 'node-red';
import type { DeliveredReport } from '../engine';
import { getMessageText } from './i18n';

/** The properties of a report message. A report that may be a repetition is marked by `redelivered` and in its text. */
interface ReportMessage {
  run: string;
  payload: DeliveredReport['data'];
  envelope: DeliveredReport['envelope'];
  redelivered?: true;
}

export function toReportMessage(red: NodeAPI, { run, data, envelope, isRedelivery }: DeliveredReport): ReportMessage {
  const message = { run: run.id, payload: data, envelope };
  if (!isRedelivery) return message;
  const text = [getMessageText(red, 'fleet.said.redelivered'), envelope.text].filter(Boolean).join('\n');
  return { ...message, envelope: { ...envelope, text }, redelivered: true };
}
