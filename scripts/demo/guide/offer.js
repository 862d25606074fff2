// Runs in the editor of the demo: the first tab is shown with the debug pane beside it, and a tour is offered, once.
/* global RED, document, localStorage, location, setTimeout, window */
(function () {
  const FIRST = '9a7e5a7e00990000';
  const SEEN = 'gateway-demo-tour';

  const tour = () => RED.tourGuide.run('/demo/tour.mjs', (error) => error && RED.notify(String(error), 'warning'));

  function answer(notification, action) {
    localStorage.setItem(SEEN, 'answered');
    notification.close();
    action?.();
  }

  /** At the bottom, where the flow does not reach. */
  function moveNotificationsDown() {
    const style = document.createElement('style');
    style.textContent = '#red-ui-notifications { top: auto; bottom: 48px }';
    document.head.append(style);
  }

  function offer() {
    moveNotificationsDown();
    const notification = RED.notify('<p>This is a demo: the appliance is simulated, nothing can break.</p><p>A tour takes a minute.</p>', {
      fixed: true,
      id: 'gateway-demo-offer',
      buttons: [
        { text: 'No, thanks', click: () => answer(notification) },
        { text: 'Take the tour', class: 'primary', click: () => answer(notification, tour) },
      ],
    });
  }

  function begin() {
    // Node-RED says in no event that its page is complete: its sidebar goes back to the first pane at the very end.
    const loading = document.querySelector('#red-ui-loading-progress');
    if (!window.RED?.nodes?.workspace?.(FIRST) || !RED.workspaces.active() || loading?.offsetParent) {
      setTimeout(begin, 100);
      return;
    }
    RED.actions.add('gateway-demo:tour', tour, { label: 'Demo: take the tour' });
    if (!location.hash) RED.workspaces.show(FIRST);
    RED.sidebar.show('debug');
    if (!localStorage.getItem(SEEN)) offer();
  }

  begin();
})();
