export { compareSnapshot } from './compare';
export { revertSnapshot } from './revert';
export { takeSnapshot } from './take';
