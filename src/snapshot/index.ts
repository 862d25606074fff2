export { takeSnapshot } from './take';
