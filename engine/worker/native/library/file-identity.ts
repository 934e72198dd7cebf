import { createHash, type Hash } from "node:crypto";
import { closeSync, existsSync, openSync, readSync } from "node:fs";
import type { Gguf } from "./ggml-bindings.ts";
import { GgufHeader } from "./gguf-header.ts";

/** Sampled bytes of each tensor: reading all of a large model would take as long as a second load. */
const SAMPLE_BYTES = 1024;
/** Bytes of the header in one read. */
const CHUNK_BYTES = 1024 * 1024;

/**
 * Identifies the contents of a GGUF file and the parts that it was split into: a hash of their headers, which hold metadata,
 * vocabulary, chat template and the list of tensors, and of bytes from the middle of every tensor. Fine-tunes of one model
 * have equal headers as a rule, and other weights. The path and the time of the file do not count.
 */
export function fileIdentity(gguf: Gguf, path: string): string {
  const hash = createHash("sha256");
  for (const part of partsOf(path)) addFile(hash, part, new GgufHeader(gguf, part, []));
  return hash.digest("hex");
}

function addFile(hash: Hash, path: string, header: GgufHeader): void {
  const file = openSync(path, "r");
  try {
    for (let at = 0; at < header.bytes; at += CHUNK_BYTES) {
      hash.update(read(file, at, Math.min(CHUNK_BYTES, header.bytes - at)));
    }
    for (const { offset, bytes } of header.tensors) {
      const length = Math.min(SAMPLE_BYTES, bytes);
      hash.update(read(file, offset + Math.floor((bytes - length) / 2), length));
    }
  } finally {
    closeSync(file);
  }
}

function read(file: number, at: number, length: number): Uint8Array {
  const buffer = new Uint8Array(length);
  return buffer.subarray(0, readSync(file, buffer, 0, length, at));
}

/** A split model is files `…-00001-of-00003.gguf`, of which the path names the first. */
function partsOf(path: string): string[] {
  const [, before, count] = /^(.*)-00001-of-(\d{5})\.gguf$/.exec(path) ?? [];
  if (before === undefined || count === undefined) return [path];
  const parts = Array.from(
    { length: Number(count) },
    (_, i) => `${before}-${String(i + 1).padStart(5, "0")}-of-${count}.gguf`,
  );
  return parts.filter((part) => existsSync(part));
}
