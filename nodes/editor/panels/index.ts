import { openCurrentComparison } from './compare-current';
import { openKnownValues, openValuePicker } from './value-picker';
import { openFilterBuilder } from './filter-builder';
import { openPreviewPanel } from './preview';
import { runConnectionTest } from './connection-test';
import { openPathBrowser } from './path-browser';

/** The content of panels.css, inserted by the build. */
declare const PANEL_STYLE: string;

$('<style>').text(PANEL_STYLE).appendTo(document.head);

/** Members of the global `gatewayPanels`. */
export const pick = openValuePicker;
export const known = openKnownValues;
export const tree = openPathBrowser;
export const filter = openFilterBuilder;
export const current = openCurrentComparison;
export const preview = openPreviewPanel;
export const test = runConnectionTest;
