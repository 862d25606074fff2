import { findNodeMarks } from './dialogs/action-label';
import { hasArea } from './operation-table';

const SVG = 'http://www.w3.org/2000/svg';
const MAX_LENGTH = 28;
const HEIGHT = 14;
const FONT = '10px Helvetica, Arial, sans-serif';

/** The text that the badge of each node shows. */
const drawnTexts = new WeakMap<RedNode, string>();

/** Shows as a badge what a node destroys, plans, holds or lacks, because a node name could hide it in the label. */
export function registerNodeMarks(): void {
  RED.view.annotations?.register('gateway-marks', {
    type: 'badge',
    class: 'gateway-marks',
    filter: (node) => hasArea(node.type),
    show: (node) => findNodeMarks(node).length > 0,
    refresh: (node) => drawnTexts.get(node) !== toBadgeText(node),
    element: createBadge,
    tooltip: (node) => findNodeMarks(node).join(', '),
  });
}

function toBadgeText(node: RedNode): string {
  const text = findNodeMarks(node).join(' · ');
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH - 1)}…` : text;
}

function createBadge(node: RedNode): SVGElement {
  const text = toBadgeText(node);
  drawnTexts.set(node, text);
  const width = Math.ceil(measureWidth(text)) + 8;
  const frame = document.createElementNS(SVG, 'rect');
  const label = document.createElementNS(SVG, 'text');
  for (const [name, value] of Object.entries({ y: -2, rx: 3, width, height: HEIGHT })) frame.setAttribute(name, String(value));
  for (const [name, value] of Object.entries({ x: 4, y: 8.5 })) label.setAttribute(name, String(value));
  label.textContent = text;
  const badge = document.createElementNS(SVG, 'g') as SVGElement;
  badge.append(frame, label);
  return badge;
}

let canvas: CanvasRenderingContext2D | null | undefined;

/** Measures the badge text. Node-RED asks for the badge before it is in the page, where SVG cannot measure text. */
function measureWidth(text: string): number {
  canvas ??= document.createElement('canvas').getContext('2d');
  if (!canvas) return text.length * 6;
  canvas.font = FONT;
  return canvas.measureText(text).width;
}
