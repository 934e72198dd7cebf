import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FLASH_SETTINGS, type Sample } from "./sample.ts";

/** Attempts that ended with the process, after which no more are made. */
const MOST_ATTEMPTS = 2;
/** The version of the measurements; models with another one are measured again. */
const VERSION = 2;

/** The connection to the server, whose end ends this process. */
export interface ServerLink {
  prependOnceListener(event: "disconnect", listener: () => void): unknown;
  off(event: "disconnect", listener: () => void): unknown;
}

/**
 * The measured steps of one model on this machine, kept in a file. Before the first step is timed a mark is written: after two
 * attempts in which llama.cpp aborted the process, no more are made. The mark is removed when the server ends meanwhile: a
 * restart within the first seconds is no evidence against the model.
 */
export class CalibrationRecord {
  readonly #directory: string;
  readonly #file: string;
  readonly #mark: string;
  readonly #link: ServerLink;
  readonly #serverEnded = () => rmSync(this.#mark, { force: true });

  /** @param identity everything that the time of steps depends on */
  constructor(directory: string, identity: unknown, link: ServerLink = process) {
    this.#link = link;
    const name = createHash("sha256")
      .update(JSON.stringify([VERSION, identity]))
      .digest("hex")
      .slice(0, 24);
    this.#directory = directory;
    this.#file = join(directory, `${name}.json`);
    this.#mark = join(directory, `${name}.attempts`);
  }

  /** Null without a readable record. */
  read(): Sample[] | null {
    try {
      const samples: unknown = JSON.parse(readFileSync(this.#file, "utf8"));
      return Array.isArray(samples) && samples.every(isSample) ? samples : null;
    } catch {
      return null;
    }
  }

  /** @returns false after too many failed attempts, or when the mark cannot be written */
  begin(): boolean {
    try {
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
      const attempts = this.#attempts();
      if (attempts >= MOST_ATTEMPTS) return false;
      writeFileSync(this.#mark, String(attempts + 1), { mode: 0o600 });
      // Runs before other listeners end the process.
      this.#link.prependOnceListener("disconnect", this.#serverEnded);
      return true;
    } catch {
      return false;
    }
  }

  /** @param samples null when the measurement failed without ending the process: the next start tries again */
  end(samples: readonly Sample[] | null): void {
    this.#link.off("disconnect", this.#serverEnded);
    try {
      if (samples !== null) {
        const fresh = `${this.#file}.${process.pid}`;
        writeFileSync(fresh, JSON.stringify(samples), { mode: 0o600 });
        renameSync(fresh, this.#file);
      }
      rmSync(this.#mark, { force: true });
    } catch {
      // A full disk: the next start measures again.
    }
  }

  #attempts(): number {
    try {
      return Number(readFileSync(this.#mark, "utf8")) || 0;
    } catch {
      return 0;
    }
  }
}

function isSample(value: unknown): value is Sample {
  if (typeof value !== "object" || value === null) return false;
  const { flash, rows, sequences, depth, ms } = value as Partial<Record<keyof Sample, unknown>>;
  const positive = (number: unknown) => typeof number === "number" && Number.isFinite(number) && number > 0;
  return (
    FLASH_SETTINGS.some((setting) => setting === flash) &&
    [rows, sequences, ms].every(positive) &&
    (depth === 0 || positive(depth))
  );
}
