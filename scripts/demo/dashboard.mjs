// @ts-check
import { join } from 'node:path';
import { toolFolder } from '../tools.mjs';
import { exampleNames, readExample } from './examples.mjs';

/**
 * Whether an example has nodes of FlowFuse Dashboard.
 * @param {string} name
 */
export function needsDashboard(name) {
  return readExample(name).some(({ type }) => type === 'ui-base');
}

/** All examples that can run here. The dashboard is left out if it cannot be installed. */
export function examplesThatRun() {
  const names = exampleNames();
  try {
    dashboardFolders(names);
    return names;
  } catch (error) {
    console.log(`The dashboard is left out: it cannot be installed now.\n${error instanceof Error ? error.message : error}`);
    return names.filter((name) => !needsDashboard(name));
  }
}

/**
 * The folders that Node-RED needs besides for those examples, installed at first need.
 * @param {string[]} names
 * @returns {string[]}
 */
export function dashboardFolders(names) {
  if (!names.some(needsDashboard)) return [];
  return [join(toolFolder('dashboard'), 'node_modules', '@flowfuse', 'node-red-dashboard')];
}
