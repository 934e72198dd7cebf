import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Holds the loading of models and their measurement, so that a test sees a server whose engines start. Use within one test. */
export class HeldLoads {
  readonly #folder = mkdtempSync(join(tmpdir(), "nightshift-loads-"));
  readonly #path = join(this.#folder, "held");

  /** What the server is to be started with. */
  get env(): Record<string, string> {
    return { NIGHTSHIFT_FAILPOINTS: `engine.load:hold=${this.#path}` };
  }

  /** From now until the end of the test or `release` no engine process loads its model. */
  hold(): void {
    onTestFinished(() => rmSync(this.#folder, { recursive: true, force: true }));
    writeFileSync(this.#path, "");
  }

  release(): void {
    rmSync(this.#path, { force: true });
  }
}
