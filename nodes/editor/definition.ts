import { closeAction, openAction, saveAction } from './action';
import { checkAppliance, checkEvery, checkFields, checkMinutes, checkOperation, checkOutput } from './check';
import { checkInventoryOf, checkPace, checkSelect } from './fleet';
import { addAction, inputLabel, label, outputLabel } from './label';

type Check = (node: RedNode, value: unknown) => true | string | string[];

/** Node-RED calls it on the node, and takes words only of one that has two parameters. */
function validator(check: Check) {
  return function (this: RedNode, value: unknown, _options: unknown): ReturnType<Check> {
    return check(this, value);
  };
}

/** What the definitions of the action nodes share: each names what it has of it. */
export const valid = {
  appliance: validator(checkAppliance),
  operation: validator(checkOperation),
  fields: validator(checkFields),
  output: validator(checkOutput),
  minutes: validator(checkMinutes),
  every: validator(checkEvery),
  inventory: validator(checkInventoryOf),
  select: validator(checkSelect),
  pace: validator(checkPace),
};

export const on = {
  inputLabel(this: RedNode): string {
    return inputLabel(this);
  },
  outputLabel(this: RedNode, index: number): string {
    return outputLabel(this, index);
  },
  label(this: RedNode): string {
    return label(this);
  },
  labelStyle(this: RedNode): string {
    return this.name ? 'node_label_italic' : '';
  },
  add(this: RedNode): void {
    addAction(this);
  },
  prepare(this: RedNode): void {
    openAction(this);
  },
  save(this: RedNode): void {
    saveAction(this);
  },
  cancel(): void {
    closeAction();
  },
};
