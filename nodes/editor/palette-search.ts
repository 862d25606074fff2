import { hasArea } from './operation-table';

/** Whoever looks for *vpn* or *kill* finds our nodes in the palette: its search goes through the type and this text. */
export function addSearchWords(): void {
  RED.events.on('registry:node-type-added', (type) => {
    if (typeof type !== 'string' || !(hasArea(type) || type === 'gateway-watch')) return;
    // The palette has its entry once everybody has heard of the type.
    setTimeout(() => {
      const entry = $(`.red-ui-palette-node[data-palette-type="${type}"]`);
      const translate = RED.nodes.getType(type)?._;
      if (!translate) return;
      const searchWords = [
        entry.attr('data-palette-label') ?? '',
        translate('search.all'),
        translate(`search.${type.slice('gateway-'.length)}`),
      ];
      entry.attr('data-palette-label', searchWords.join(' '));
    });
  });
}
