import type { ParsedInput } from '../model/field';
import type { OperationContext } from '../model/operation';
import type { ConfigurationTexts } from './configuration-texts';

/** Performs `snapshot.take` but returns serialized texts. With `previous`, unchanged resources share its memory. */
export function readConfiguration(previous: ConfigurationTexts | undefined) {
  return async (input: ParsedInput, call: OperationContext): Promise<ConfigurationTexts> =>
    (await import('./index.js')).readConfigurationTexts(input, previous, call);
}
