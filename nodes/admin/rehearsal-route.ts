import { asGatewayError, badInput } from '../../src/model/error';
import type { JsonObject } from '../../src/model/json';
import { getApplianceById } from '../appliance/appliance-node';
import { badConfig } from '../common/node-properties';
import { createPostRoute } from './admin-route';
import type { DialogRouteResult } from './draft-gateways';

const MAX_COMPARE_MS = 120_000;
/** Maximum length of the differences in the dialog. */
const MAX_SHOWN_CHARACTERS = 20_000;

/** `POST /gateway-appliance/rehearsal` resets the copy of a deployed appliance, or returns what changed in the copy. */
export const rehearsalRoute = createPostRoute('/gateway-appliance/rehearsal', (_red, body, signal) => handleRehearsal(body, signal));

async function handleRehearsal(body: Readonly<JsonObject>, clientSignal: AbortSignal): Promise<DialogRouteResult> {
  try {
    const deployed = typeof body.id === 'string' ? getApplianceById(body.id) : undefined;
    if (!deployed?.isRehearsal) throw badConfig('The appliance does not rehearse. Enter a folder, press Done and deploy.');
    const gateway = deployed.gateway();
    if (body.action === 'reset') {
      await gateway.resetRehearsal();
      return { ok: true };
    }
    if (body.action !== 'compare') throw badInput('action must be reset or compare.');
    const signal = AbortSignal.any([clientSignal, AbortSignal.timeout(MAX_COMPARE_MS)]);
    const { data, envelope } = await gateway.run('snapshot.compare', { folder: String(deployed.properties.rehearsal) }, { signal });
    const text = typeof envelope.text === 'string' ? envelope.text : '';
    const { added, removed, changed } = data;
    return {
      ok: true,
      added: added.length,
      removed: removed.length,
      changed: changed.length,
      text: text.slice(0, MAX_SHOWN_CHARACTERS),
      isCut: text.length > MAX_SHOWN_CHARACTERS,
    };
  } catch (thrown) {
    const { code, message } = asGatewayError(thrown);
    return { ok: false, code, message };
  }
}
