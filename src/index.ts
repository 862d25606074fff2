export { areas, operations } from './areas';
export type { Envelope, Many, ManyItem, PlannedRequest, ResultLists, WriteResult } from './envelope';
export { GatewayError, type ErrorCode } from './error';
export { Gateway, type Outcome, type RunOptions } from './gateway';
export type { Area, Effect, Field, Fields, Operation, Request } from './operation';
export type { ProxySettings, Settings, TlsSettings } from './settings';
