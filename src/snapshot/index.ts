export { compareSnapshot } from './compare';
export { readConfigurationTexts } from './read-configuration-texts';
export { revertSnapshot } from './revert';
export { takeSnapshot } from './take';
