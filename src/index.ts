export { areas, operations } from './areas';
export type { Envelope, Many, ManyItem, PlannedRequest, ResultLists, WriteResult } from './model/envelope';
export { GatewayError } from './model/error';
export { Gateway, type GatewayOptions, type Outcome, type RunOptions } from './gateway';
export { coordinationKey, type Coordination, type ExclusiveOptions, type Remembered } from './model/coordination';
export type { Area, Effect, Field, Fields, Operation } from './model/operation';
export type { ProxySettings, Settings, TlsSettings } from './model/settings';
export type { ErrorCode } from './model/error-codes';
export type { Request } from './model/request';
