import { closeActionDialog, openActionDialog, saveActionDialog } from './action';
import {
  checkAppliance,
  checkPollInterval,
  checkFields,
  checkApprovalMinutes,
  checkOperation,
  checkOutputProperty,
} from './action-validators';
import { checkInventoryChoice, checkRolloutOption, checkApplianceSelection } from './many-appliances';
import { presetApplianceOfNewNode, getActionInputLabel, getActionLabel, getActionOutputLabel } from './action-label';

type Check = (node: RedNode, value: unknown) => true | string | string[];

/** Creates a validator. Node-RED calls it as a method of the node, and accepts an error text only from a function with two parameters. */
function createValidator(check: Check) {
  return function (this: RedNode, value: unknown, _options: unknown): ReturnType<Check> {
    return check(this, value);
  };
}

/** Validators that the registrations of all action nodes share. */
export const actionNodeValidators = {
  appliance: createValidator(checkAppliance),
  operation: createValidator(checkOperation),
  fields: createValidator(checkFields),
  output: createValidator(checkOutputProperty),
  minutes: createValidator(checkApprovalMinutes),
  every: createValidator(checkPollInterval),
  inventory: createValidator(checkInventoryChoice),
  select: createValidator(checkApplianceSelection),
  pace: createValidator(checkRolloutOption),
};

export const actionNodeHandlers = {
  inputLabel(this: RedNode): string {
    return getActionInputLabel(this);
  },
  outputLabel(this: RedNode, index: number): string {
    return getActionOutputLabel(this, index);
  },
  label(this: RedNode): string {
    return getActionLabel(this);
  },
  labelStyle(this: RedNode): string {
    return this.name ? 'node_label_italic' : '';
  },
  add(this: RedNode): void {
    presetApplianceOfNewNode(this);
  },
  prepare(this: RedNode): void {
    openActionDialog(this);
  },
  save(this: RedNode): void {
    saveActionDialog(this);
  },
  cancel(): void {
    closeActionDialog();
  },
};
