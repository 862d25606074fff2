// The tour of the demo. Next also presses the buttons, so that a reader sees their effect.

const TAB = '9a7e5a7e00990000';
const button = (/** @type {string} */ id) => `[id="${id}"] .red-ui-flow-node-button`;

/** Presses the button of an Inject node. @param {string} id */
function press(id) {
  return $.ajax({ url: `inject/${id}`, type: 'POST' });
}

/** @param {() => void} done */
function showTab(done) {
  RED.workspaces.show(TAB);
  RED.sidebar.show('debug');
  setTimeout(done, 300);
}

/**
 * @param {string} id of the Inject node
 * @param {string} title
 * @param {string} description
 */
const pressed = (id, title, description) => ({
  element: button(id),
  direction: 'bottom',
  prepare: showTab,
  complete: () => void press(id),
  title,
  description: `<p>${description}</p><p>“Next” presses it.</p>`,
});

export default {
  steps: [
    {
      title: 'An appliance to play with',
      description:
        '<p>Everything here runs on this machine: Node-RED, and an appliance that is simulated. Whatever you press, nothing can break.</p><p>This takes a minute.</p>',
      prepare: showTab,
    },
    pressed(
      '9a7e5a7e00990002',
      '1. See who is connected',
      'A button like this one starts a flow. This flow asks the appliance for all of its sessions.',
    ),
    {
      element: '.red-ui-debug-content-list',
      direction: 'left',
      title: 'What came of it',
      description:
        '<p>The debug pane shows what the nodes give: a sentence for people, and the sessions themselves. Click an arrow to open one.</p>',
    },
    pressed(
      '9a7e5a7e00990007',
      '2. End j.doe’s sessions',
      'The account is disabled, and the sessions end: on the appliance, now. A dry run would only say what it would do.',
    ),
    pressed(
      '9a7e5a7e0099000b',
      '3. Bring j.doe back',
      'The account is enabled again. The clients of j.doe notice, and sign in by themselves.',
    ),
    pressed(
      '9a7e5a7e0099000f',
      '4. See what changed',
      'The appliance node keeps a journal: who did what, when, and what was there before.',
    ),
    {
      element: '[id="9a7e5a7e00990003"]',
      direction: 'bottom',
      title: 'Look inside',
      description:
        '<p>Double-click a node: its operation, its fields, and at “Appliance” the pencil that leads to address and account. The help beside it explains each operation.</p>',
    },
    {
      element: '#red-ui-palette-container-gateway',
      direction: 'right',
      prepare: (/** @type {() => void} */ done) => {
        document.querySelector('#red-ui-palette-container-gateway')?.scrollIntoView({ block: 'center' });
        setTimeout(done, 300);
      },
      title: 'Build your own',
      description:
        '<p>These are the nodes. The other tabs show what they are good for: each has buttons, and a comment that says what you would change for an appliance of your own.</p>',
    },
  ],
};
