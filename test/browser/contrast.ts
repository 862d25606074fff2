/** Texts that are shown with less contrast than 4.5 : 1, computed from the styles: axe finds nothing to check inside Node-RED. Runs in the page. */
export function tooFaint(): string[] {
  // Red, green, blue from 0 to 1, and how much of it covers what is behind.
  const parts = (color: string): number[] => {
    const numbers = (color.match(/[\d.]+/g) ?? []).map(Number);
    const all = color.startsWith('color(') ? numbers : numbers.map((part, at) => (at < 3 ? part / 255 : part));
    return [...all.slice(0, 3), all[3] ?? 1];
  };
  const over = (front: number[], back: number[], cover = front[3] ?? 1): number[] => [
    ...[0, 1, 2].map((at) => (front[at] ?? 0) * cover + (back[at] ?? 0) * (1 - cover)),
    1,
  ];
  const share = (part: number): number => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const light = ([red = 0, green = 0, blue = 0]: number[]): number => 0.2126 * share(red) + 0.7152 * share(green) + 0.0722 * share(blue);
  // Many texts have the same parents.
  const backgrounds = new Map<Element, number[]>();
  const opacities = new Map<Element, number>();
  const behind = (element: Element | null): number[] => {
    if (!element) return [1, 1, 1, 1];
    const known = backgrounds.get(element);
    if (known) return known;
    const color = parts(getComputedStyle(element).backgroundColor);
    const found = (color[3] ?? 1) > 0.99 ? color : over(color, behind(element.parentElement));
    backgrounds.set(element, found);
    return found;
  };
  const veil = (element: Element | null): number => {
    if (!element) return 1;
    const found = opacities.get(element) ?? Number(getComputedStyle(element).opacity) * veil(element.parentElement);
    opacities.set(element, found);
    return found;
  };
  let seen = 0;
  const faint = [...document.querySelectorAll('.gateway-form *, .gateway-panel, .gateway-panel *')].flatMap((element) => {
    const texts = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim());
    if (!element.checkVisibility() || !(texts || element.tagName === 'SELECT' || (element instanceof HTMLInputElement && element.value)))
      return [];
    // What cannot be used now may be faint.
    if (element.closest('[disabled], .disabled')) return [];
    seen += 1;
    const back = behind(element);
    const front = parts(getComputedStyle(element).color);
    const [one = 0, other = 0] = [light(over(front, back, (front[3] ?? 1) * veil(element))), light(back)].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    return ratio < 4.5 ? [`${ratio.toFixed(2)} ${element.className || element.tagName}: ${element.textContent?.slice(0, 30)}`] : [];
  });
  return seen > 5 ? faint : [`only ${seen} texts were looked at`];
}
