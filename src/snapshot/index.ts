export { compareSnapshot } from './compare';
export { readTexts } from './read-texts';
export { revertSnapshot } from './revert';
export { takeSnapshot } from './take';
