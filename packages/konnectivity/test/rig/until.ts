export { turns, until } from '@roundhouse/simulators';
