import { expect, it } from 'vitest';
import { isFailureUnanswered, type FlowNodeConfig, type WireBetweenNodes } from '../../nodes/editor/panels/http-answer';

const part = (id: string, type: string, more: object = {}): FlowNodeConfig => ({ id, type, z: 't1', ...more });
const wire = (from: string, to: string, port = 0): WireBetweenNodes => ({ from, to, port });
const webhook = [part('in', 'http in'), part('end', 'gateway-sessions'), part('answer', 'http response')];
const wires = [wire('in', 'end'), wire('end', 'answer')];

it('the editor warns about a webhook if no Catch node leads to a response', () => {
  const unanswered = (parts: FlowNodeConfig[], more: WireBetweenNodes[] = []): boolean =>
    isFailureUnanswered('end', undefined, [...webhook, ...parts], [...wires, ...more]);
  expect(unanswered([])).toBe(true);
  expect(unanswered([part('c', 'catch', { scope: null })])).toBe(true);
  expect(unanswered([part('c', 'catch', { scope: null })], [wire('c', 'answer')])).toBe(false);
  expect(unanswered([part('c', 'catch', { scope: ['end'] })], [wire('c', 'answer')])).toBe(false);
  expect(unanswered([part('c', 'catch', { scope: ['other'] })], [wire('c', 'answer')])).toBe(true);
  expect(unanswered([part('c', 'catch', { scope: null, z: 't2' })], [wire('c', 'answer')])).toBe(true);
});

it('the editor warns about a webhook until its output for failures leads to a response', () => {
  expect(isFailureUnanswered('end', 1, webhook, wires)).toBe(true);
  expect(isFailureUnanswered('end', 1, webhook, [...wires, wire('end', 'answer', 1)])).toBe(false);
});

it('the search for an HTTP response to a failure follows link nodes and survives loops', () => {
  const linked = [
    ...webhook,
    part('lo', 'link out', { links: ['li'] }),
    part('li', 'link in', { links: ['lo'] }),
    part('c', 'catch', { scope: null }),
  ];
  const ways = [wire('in', 'lo'), wire('li', 'end'), wire('end', 'end'), wire('end', 'answer')];
  expect(isFailureUnanswered('end', undefined, linked, ways)).toBe(true);
  expect(isFailureUnanswered('end', undefined, linked, [...ways, wire('c', 'answer')])).toBe(false);
  expect(isFailureUnanswered('end', undefined, webhook, [wire('end', 'answer')])).toBe(false);
});
