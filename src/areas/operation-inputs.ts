/**
 * Input of each operation by its full name. Empty in the sources, where the types follow from the fields. For the package, the build
 * replaces the declarations with one type per operation, which has the help of each field (scripts/operation-inputs.mjs).
 */
export type OperationInputs = Record<never, never>;
