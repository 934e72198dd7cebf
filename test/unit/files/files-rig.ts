import { join } from "node:path";
import { FileStore, type FileStoreDeps } from "../../../files/file-store.ts";
import { UploadStore } from "../../../files/upload-store.ts";
import { freshFolder, testStore } from "../store/test-store.ts";

/** A clock that only the test sets. */
export class ManualClock {
  monotonicMs = 5000;
  wallMs = 1_700_000_000_000;

  now(): number {
    return this.monotonicMs;
  }

  epochMs(): number {
    return this.wallMs;
  }

  /** Advances both clocks. */
  pass(seconds: number): void {
    this.monotonicMs += seconds * 1000;
    this.wallMs += seconds * 1000;
  }

  /** Sets the wall clock. */
  jump(seconds: number): void {
    this.wallMs += seconds * 1000;
  }

  get seconds(): number {
    return Math.floor(this.wallMs / 1000);
  }
}

export class RecordedLog {
  readonly lines: { level: string; fields: object; message: string }[] = [];
  readonly debug = this.#note("debug");
  readonly info = this.#note("info");
  readonly warn = this.#note("warn");
  readonly error = this.#note("error");

  get messages(): string[] {
    return this.lines.map(({ message }) => message);
  }

  #note(level: string) {
    return (fields: object, message: string) => void this.lines.push({ level, fields, message });
  }
}

/** File and upload stores over a real store and a real disk; everything is removed after the test. */
export async function openFileStores(changed: Partial<Omit<FileStoreDeps, "store">> = {}) {
  const dataDir = changed.dataDir ?? freshFolder();
  const clock = changed.clock instanceof ManualClock ? changed.clock : new ManualClock();
  const log = new RecordedLog();
  const store = await testStore(dataDir);
  const deps = { store, dataDir, clock, log, diskReserve: 0, storageQuota: null, maxFiles: 10_000, ...changed };
  const files = await FileStore.open(deps);
  const uploads = await UploadStore.open({ ...deps, files });
  return { files, uploads, store, dataDir, clock, log, at: (...path: string[]) => join(dataDir, ...path) };
}

export async function* bytesOf(...chunks: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
}
