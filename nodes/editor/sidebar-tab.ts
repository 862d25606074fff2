import { loadScript } from './load-script';

/** The global that sidebar.js defines. */
declare const gatewaySidebar: {
  openSidebar(node: RedNode, container: JQuery): void;
  recipes(node: RedNode, appliance: string): void;
};

const TYPE = 'gateway-appliance';

/** Adds the sidebar tab. Its content is loaded when a user opens the tab. */
export function addSidebarTab(): void {
  let isAdded = false;
  RED.events.on('registry:node-type-added', (type) => {
    const translate = RED.nodes.getType(TYPE)?._;
    if (type !== TYPE || isAdded || !translate || !RED.user.hasPermission(`${TYPE}.read`)) return;
    isAdded = true;
    const node = { id: 'gateway-sidebar', type: TYPE, _: translate };
    const name = translate('sidebar.tab');
    const content = $('<div class="gateway-sidebar">');
    const onchange = (): void => void loadSidebar(node).then(() => gatewaySidebar.openSidebar(node, content));
    RED.actions.add('gateway:show-sidebar', () => RED.sidebar.show(node.id));
    RED.sidebar.addTab({
      ...{ id: node.id, label: name, name, iconClass: 'fa fa-server', content, enableOnEdit: true, onchange },
      action: 'gateway:show-sidebar',
    });
  });
}

/** Opens the recipes on top of the dialog of an appliance. */
export function openRecipes(node: RedNode): void {
  void loadSidebar(node).then(() => gatewaySidebar.recipes(node, node.id));
}

async function loadSidebar(node: RedNode): Promise<void> {
  try {
    await loadScript('sidebar');
  } catch {
    RED.notify(node._('test.unreachable-help'), 'error');
    throw new Error('sidebar.js was not loaded.');
  }
}
