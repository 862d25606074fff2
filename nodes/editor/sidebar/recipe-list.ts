import type { SidebarContext } from './context';
import { createIconElement } from './elements';
import { openRecipeForm } from './recipe-form';
import { RECIPES } from './recipes';

/** Shows the recipes as a list of buttons. */
export function createRecipeList({ node, text }: SidebarContext): JQuery {
  const list = createButtons(node, (name) => openRecipeForm(node, name));
  return $('<details class="gateway-recipes" open>').append($('<summary>').append($('<h2>').text(text('recipe.title'))), list);
}

function createButtons(node: RedNode, onChosen: (name: string) => void): JQuery {
  const buttons = RECIPES.map(({ name, icon }) =>
    $('<button type="button" class="gateway-recipe">')
      .attr({ 'data-recipe': name, title: node._(`recipe.${name}.help`) })
      .append(createIconElement(icon), $('<span>').text(node._(`recipe.${name}.title`)))
      .on('click', () => onChosen(name)),
  );
  return $('<ul class="gateway-recipe-list">').append(buttons.map((button) => $('<li>').append(button)));
}

/** Lets the user select a recipe for an appliance, on top of the dialog of that appliance. */
export function openRecipes(node: RedNode, appliance: string): void {
  RED.tray.show({
    title: node._('recipe.title'),
    width: 450,
    buttons: [{ id: 'gateway-recipes-cancel', text: node._('sidebar.cancel'), click: () => RED.tray.close() }],
    open: (tray) => {
      const list = createButtons(node, (name) => RED.tray.close(() => openRecipeForm(node, name, appliance)));
      tray.find('.red-ui-tray-body').append($('<div class="gateway-recipe-choice">').append($('<p>').text(node._('recipe.about')), list));
    },
    show: () => $('.gateway-recipe-choice button').first().trigger('focus'),
    close: () => undefined,
  });
}
