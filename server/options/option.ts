import type { Kind } from "./kinds/kind.ts";

/** One option: its key in the table is its YAML key; flag and environment variable follow from it (name.ts). */
export interface Option<T> {
  group: Group;
  help: string;
  kind: Kind<T>;
  default: T;
  /** Describes the effect of an unset option, if the default value does not. */
  defaultText?: string;
}

export type Group =
  | "Server"
  | "Models"
  | "Engine"
  | "Limits"
  | "Retention"
  | "Batches"
  | "Money"
  | "Webhooks"
  | "Access"
  | "Logs";

export function row<T>(
  group: Group,
  kind: Kind<T>,
  fallback: NoInfer<T>,
  help: string,
  defaultText?: string,
): Option<T> {
  return { group, help, kind, default: fallback, defaultText };
}
