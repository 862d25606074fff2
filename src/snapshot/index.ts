export { compareSnapshot } from './compare';
export { readSerializedTree } from './read-serialized-tree';
export { revertSnapshot } from './revert';
export { takeSnapshot } from './take';
