import { hasArea } from './operation-table';

/** Adds search words such as "vpn" or "kill" to the palette entries. */
export function addSearchWords(): void {
  RED.events.on('registry:node-type-added', (type) => {
    if (typeof type !== 'string' || !(hasArea(type) || type === 'gateway-watch')) return;
    // The palette creates its entry after all listeners have run.
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
