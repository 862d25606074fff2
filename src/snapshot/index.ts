export { compareSnapshot } from './compare';
export { takeSnapshot } from './take';
