/** Creates a labeled button. `name` is the text for screen readers, if the label is not enough. */
export function createLabeledButton(text: string, onPress: () => void, name = text): JQuery {
  return $('<button type="button" class="red-ui-button red-ui-button-small">').text(text).attr('aria-label', name).on('click', onPress);
}

export function createIconElement(icon: string): JQuery {
  return $('<i aria-hidden="true">').addClass(`fa ${icon}`);
}

/** Maximum number of path segments in a plan. */
const MAX_SEGMENTS = 3;

/** The language of the editor, for times and numbers. */
const getLanguage = (): string | undefined => localStorage.getItem('editor-language') ?? undefined;

/** Shows a time, without the date if it is today. The tooltip has the whole time. */
export function createTimeElement(at: string): JQuery {
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

/** Creates a collapsible section that keeps its state when the list is redrawn. */
export function createCollapsibleSection(open: Set<string>, key: string, title: string, content: JQuery): JQuery {
  const fold = $('<details class="gateway-fold">').append($('<summary>').text(title), content).prop('open', open.has(key));
  return fold.on('toggle', () => void (fold.prop('open') === true ? open.add(key) : open.delete(key)));
}

/** Shows the last segments of each path, which name the object. The tooltip has the whole path. */
export function createRequestList(plan: readonly { readonly method: string; readonly path: string }[]): JQuery {
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
