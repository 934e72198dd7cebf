import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Holds the loading and measurement of models, so that a test can observe starting engines. Use within one test. */
export class HeldLoads {
  readonly #folder = mkdtempSync(join(tmpdir(), "nightshift-loads-"));
  readonly #path = join(this.#folder, "held");

  /** Environment of the server. */
  get env(): Record<string, string> {
    return { NIGHTSHIFT_FAILPOINTS: `engine.load:hold=${this.#path}` };
  }

  /** Until the end of the test or `release`, no engine process loads its model. */
  hold(): void {
    onTestFinished(() => rmSync(this.#folder, { recursive: true, force: true }));
    writeFileSync(this.#path, "");
  }

  release(): void {
    rmSync(this.#path, { force: true });
  }
}
