/** The content of panels.css, inserted by the build. */
declare const PANEL_STYLE: string;

$('<style>').text(PANEL_STYLE).appendTo(document.head);

/** Members of the global `gatewayPanels`. */
export { openValuePicker as pick, openKnownValueList as known } from './value-picker';
export { openPathBrowser as tree } from './path-browser';
export { openFilterBuilder as filter } from './filter-builder';
export { openCurrentComparison as current } from './compare-current';
export { openPreviewPanel as preview } from './preview';
export { runConnectionTest as test } from './connection-test';
export { openTryNowPanel as try } from './try-now';
export { openFolderPicker as folder, showFolderState as checkFolder } from './folder-picker';
export { offerMissingFlowParts as offers } from './missing-flow-parts';
