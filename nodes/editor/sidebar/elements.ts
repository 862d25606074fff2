/** Creates a labeled button. `name` is what a screen reader says, if the text does not say enough. */
export function createButton(text: string, onPress: () => void, name = text): JQuery {
  return $('<button type="button" class="red-ui-button red-ui-button-small">').text(text).attr('aria-label', name).on('click', onPress);
}

export function createIcon(icon: string): JQuery {
  return $('<i aria-hidden="true">').addClass(`fa ${icon}`);
}

/** A plan shows at most this many segments of a path. */
const MAX_SEGMENTS = 3;

/** The language of the editor, for times and numbers. */
export const getLanguage = (): string | undefined => localStorage.getItem('editor-language') ?? undefined;

/** A time of today without its date. The whole time is the tooltip. */
export function createTime(at: string): JQuery {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  const clock: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit' };
  const shown = isToday
    ? date.toLocaleTimeString(getLanguage(), clock)
    : date.toLocaleString(getLanguage(), { day: 'numeric', month: 'short', ...clock });
  return $('<time>')
    .text(shown)
    .attr({ datetime: at, title: date.toLocaleString(getLanguage(), { timeZoneName: 'short' }) });
}

/** A fold that keeps its state while the list is drawn again. */
export function createFold(open: Set<string>, key: string, title: string, content: JQuery): JQuery {
  const fold = $('<details class="gateway-fold">').append($('<summary>').text(title), content).prop('open', open.has(key));
  return fold.on('toggle', () => void (fold.prop('open') === true ? open.add(key) : open.delete(key)));
}

/** The last segments of each path name the object. The whole path is the tooltip. */
export function createRequests(plan: readonly { readonly method: string; readonly path: string }[]): JQuery {
  return $('<ul class="gateway-plan">').append(
    plan.map(({ method, path }) => {
      const segments = path.split('/').filter(Boolean).map(decode);
      const shown = segments.length > MAX_SEGMENTS ? `…/${segments.slice(-MAX_SEGMENTS).join('/')}` : path;
      return $('<li>').append($('<code>').text(`${method} ${shown}`).attr('title', `${method} ${path}`));
    }),
  );
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
