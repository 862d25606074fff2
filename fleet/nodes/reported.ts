import type { NodeAPI } from 'node-red';
import type { Delivered } from '../engine';
import { saidText } from './texts';

/** What a message has that brings a report. One that may have come before says so, for programs and for people. */
export interface ReportMessage {
  run: string;
  payload: Delivered['data'];
  envelope: Delivered['envelope'];
  redelivered?: true;
}

export function reported(red: NodeAPI, { run, data, envelope, again }: Delivered): ReportMessage {
  const message = { run: run.id, payload: data, envelope };
  if (!again) return message;
  const text = [saidText(red, 'fleet.said.redelivered'), envelope.text].filter(Boolean).join('\n');
  return { ...message, envelope: { ...envelope, text }, redelivered: true };
}
