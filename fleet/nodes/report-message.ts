import type { NodeAPI } from 'node-red';
import type { DeliveredReport } from '../engine';
import { getSentence } from './i18n';

/** What a message has that brings a report. One that may have come before says so, for programs and for people. */
export interface ReportMessage {
  run: string;
  payload: DeliveredReport['data'];
  envelope: DeliveredReport['envelope'];
  redelivered?: true;
}

export function toReportMessage(red: NodeAPI, { run, data, envelope, isRedelivery }: DeliveredReport): ReportMessage {
  const message = { run: run.id, payload: data, envelope };
  if (!isRedelivery) return message;
  const text = [getSentence(red, 'fleet.said.redelivered'), envelope.text].filter(Boolean).join('\n');
  return { ...message, envelope: { ...envelope, text }, redelivered: true };
}
