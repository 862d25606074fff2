import { showError } from '../text';
import { insertRecipe } from './insert-recipe';
import { RECIPES, toWeekdayTextKey } from './recipes';
import { checkRecipeValue, type Recipe, type RecipeField } from './recipes/recipe';

interface ApplianceChoice {
  readonly id: string;
  readonly label: string;
}

/** Opens the form of a recipe with the fields that the user must fill in. `appliance` is already selected. */
export function openRecipeForm(node: RedNode, name: string, appliance?: string): void {
  const recipe = RECIPES.find((candidate) => candidate.name === name);
  if (recipe) new RecipeForm(node, recipe, appliance).open();
}

class RecipeForm {
  private readonly form = $('<form class="gateway-form gateway-recipe-form" autocomplete="off">');
  private readonly inputs = new Map<string, JQuery>();
  private readonly text: RedNode['_'];

  constructor(
    private readonly node: RedNode,
    private readonly recipe: Recipe,
    private readonly appliance: string | undefined,
  ) {
    this.text = (key, values) => node._(key, values);
  }

  open(): void {
    const { name } = this.recipe;
    RED.tray.show({
      title: this.text(`recipe.${name}.title`),
      width: 500,
      buttons: [
        { id: 'gateway-recipe-cancel', text: this.text('sidebar.cancel'), click: () => RED.tray.close() },
        { id: 'gateway-recipe-insert', text: this.text('recipe.insert'), class: 'primary', click: () => this.insert() },
      ],
      open: (tray) => void tray.find('.red-ui-tray-body').append(this.create()),
      show: () => this.form.find('input').first().trigger('focus').trigger('select'),
      close: () => undefined,
    });
  }

  private create(): JQuery {
    this.form.on('submit', (event) => {
      event.preventDefault();
      this.insert();
    });
    this.form.append($('<p class="gateway-recipe-help">').text(this.text(`recipe.${this.recipe.name}.help`)));
    for (const field of this.recipe.fields) this.form.append(this.createRow(field));
    this.form.append(this.createApplianceRow());
    this.form.append($('<p class="gateway-recipe-help">').text(this.text(`recipe.${this.recipe.name}.then`)));
    // Enter in a field inserts, as the button does.
    this.form.append($('<input type="submit" tabindex="-1" aria-hidden="true" class="gateway-hidden">'));
    this.showRows();
    return this.form;
  }

  private createRow(field: RecipeField): JQuery {
    const { name, kind, placeholder, choices } = field;
    const id = `gateway-recipe-${name}`;
    const input = choices ? this.createSelect(name, choices) : $('<input type="text" spellcheck="false">');
    if (kind === 'time') input.attr('type', 'time');
    if (kind === 'number')
      input.attr({ type: 'number', min: field.range?.[0] ?? 1, max: field.range?.[1] ?? '' }).addClass('gateway-short');
    if (placeholder !== undefined) input.attr('placeholder', placeholder);
    input.attr({ id, 'aria-describedby': `${id}-help ${id}-error` }).val(this.createDefault(field));
    input.on('input change', () => {
      this.showFieldError(field, false);
      this.showRows();
    });
    this.inputs.set(name, input);
    return this.toRow(id, this.text(`recipe.field.${name}`), input, this.text(`recipe.field.${name}-help`)).attr('data-field', name);
  }

  private toRow(id: string, label: string, input: JQuery, help: string): JQuery {
    const cell = $('<div>').append(
      input,
      $('<div class="gateway-note">').attr('id', `${id}-help`).text(help),
      $('<div class="gateway-error" role="alert">').attr('id', `${id}-error`),
    );
    return $('<div class="form-row gateway-row">').append($('<label>').attr('for', id).text(label), cell);
  }

  private createSelect(name: string, choices: readonly string[]): JQuery {
    const group = name === 'day' ? 'day' : `field.${name}`;
    const options = choices.map((value) =>
      $('<option>')
        .val(value)
        .text(this.text(`recipe.${group}${name === 'day' ? '.' : '-'}${toWeekdayTextKey(value)}`)),
    );
    return $('<select>').append(options);
  }

  private createApplianceRow(): JQuery {
    const appliances = listAppliances(this.node);
    const id = 'gateway-recipe-appliance';
    const options = appliances.map((appliance) => $('<option>').val(appliance.id).text(appliance.label));
    if (options.length === 0) options.push($('<option>').val('').text(this.text('recipe.no-appliance')));
    const select = $('<select>')
      .attr({ id, 'aria-describedby': `${id}-help ${id}-error` })
      .append(options);
    select.val(this.appliance ?? findMostUsed(appliances) ?? '');
    this.inputs.set('appliance', select);
    return this.toRow(id, this.text('action.appliance'), select, appliances.length === 0 ? this.text('recipe.no-appliance-help') : '');
  }

  /** Fills in a path that no other flow uses, and a random secret. */
  private createDefault({ name, kind, default: value }: RecipeField): string {
    if (kind === 'secret') return createSecret();
    if (name !== 'path') return value;
    const used = new Set<unknown>();
    RED.nodes.eachNode((node) => void (node.type === 'http in' && used.add(node.url)));
    let path = value;
    for (let n = 2; used.has(path); n++) path = `${value}-${n}`;
    return path;
  }

  private getValues(): Record<string, string> {
    return Object.fromEntries([...this.inputs].map(([name, input]) => [name, String(input.val() ?? '')]));
  }

  private isShown({ onlyFor }: RecipeField): boolean {
    return onlyFor === undefined || this.inputs.get(onlyFor[0])?.val() === onlyFor[1];
  }

  private showRows(): void {
    for (const field of this.recipe.fields) this.form.find(`[data-field="${field.name}"]`).toggle(this.isShown(field));
  }

  /** Checks a field. Shows its error, or removes an error that is corrected. Returns whether the field is valid. */
  private showFieldError(field: RecipeField, shows: boolean): boolean {
    const value = this.getValues()[field.name] ?? '';
    const key = this.isShown(field) ? checkRecipeValue(field, value) : undefined;
    const complaint = key === undefined ? undefined : this.text(key, { min: field.range?.[0] ?? 1, max: field.range?.[1] ?? '' });
    if (shows || key === undefined) {
      showError(this.form.find(`#gateway-recipe-${field.name}-error`), complaint);
      this.inputs
        .get(field.name)
        ?.toggleClass('input-error', key !== undefined)
        .attr('aria-invalid', String(key !== undefined));
    }
    return key === undefined;
  }

  private insert(): void {
    const wrong = this.recipe.fields.filter((field) => !this.showFieldError(field, true));
    const [first] = wrong;
    if (first) {
      this.inputs.get(first.name)?.trigger('focus');
      return;
    }
    const flow = this.recipe.build(this.getValues(), this.text);
    RED.tray.close(() => insertRecipe(flow, this.text(`recipe.${this.recipe.name}.title`)));
  }
}

function createSecret(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function listAppliances(node: RedNode): ApplianceChoice[] {
  const found: ApplianceChoice[] = [];
  RED.nodes.eachConfig((config) => {
    if (config.type !== 'gateway-appliance' || config.d === true) return;
    const label = [config.name, config.url].find((text) => typeof text === 'string' && text !== '');
    found.push({ id: config.id, label: typeof label === 'string' ? label : node._('appliance.label') });
  });
  return found;
}

/** Returns the appliance that most nodes use. */
function findMostUsed(appliances: readonly ApplianceChoice[]): string | undefined {
  const uses = new Map<unknown, number>();
  RED.nodes.eachNode(({ appliance }) => void uses.set(appliance, (uses.get(appliance) ?? 0) + 1));
  return [...appliances].sort((a, b) => (uses.get(b.id) ?? 0) - (uses.get(a.id) ?? 0))[0]?.id;
}
