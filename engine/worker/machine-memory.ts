import { freemem } from "node:os";
import type { EngineConfig } from "../protocol/config.ts";
import type { Library } from "./native/library/library.ts";

/** Bytes that are free, before weights are loaded. */
export interface FreeMemory {
  host: number;
  /** Free bytes of the memory that weights and cache will use. */
  model: number;
  onGpu: boolean;
}

export function freeMemory(library: Library, config: Pick<EngineConfig, "gpu">): FreeMemory {
  const gpu = library.devices.filter((device) => device.kind === "gpu");
  const onGpu = gpu.length > 0 && config.gpu !== "off";
  const host = Math.min(freemem(), process.availableMemory());
  return { host, model: onGpu ? gpu.reduce((sum, device) => sum + device.free, 0) : host, onGpu };
}
