import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Holds an engine's step loop, so that a test can create a situation that otherwise depends on the machine's speed. */
export class HeldSteps {
  readonly #folder = mkdtempSync(join(tmpdir(), "nightshift-steps-"));
  readonly #path = join(this.#folder, "steps");
  #orders = 0;

  /** Environment of the server. */
  get env(): Record<string, string> {
    return { NIGHTSHIFT_FAILPOINTS: `engine.step:hold=${this.#path}` };
  }

  /** Lets this many more steps run, until the end of the test or `release`. All running streams share them. */
  allow(steps: number): void {
    onTestFinished(() => this.release());
    writeFileSync(`${this.#path}.new`, `${++this.#orders} ${steps}`);
    renameSync(`${this.#path}.new`, this.#path);
  }

  release(): void {
    rmSync(this.#path, { force: true });
  }
}
