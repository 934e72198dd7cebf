import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, onTestFailed } from "vitest";
import { TestServer } from "../api/server.ts";

/**
 * Servers of one data directory, one after the other: a test has one killed at a failpoint, and the next one, which
 * takes over what that left, is the one that the next test kills. This saves every second start.
 */
export class KilledServers {
  dataDir = "";
  #server: TestServer | null = null;
  readonly #failpoints: readonly string[];
  readonly #args: readonly string[];
  readonly #message: string;

  /** @param message what a server has logged when a test gets it */
  constructor(failpoints: readonly string[], args: readonly string[], message: string) {
    this.#failpoints = failpoints;
    this.#args = args;
    this.#message = message;
    afterAll(() => this.#clear());
  }

  /** The server that runs, or a new one. After a test that failed it begins with a new directory. */
  async running(): Promise<TestServer> {
    onTestFailed(() => this.#clear());
    if (this.#server !== null) return this.#server;
    if (this.dataDir === "") this.dataDir = mkdtempSync(join(tmpdir(), "nightshift-killed-"));
    const armed = this.#failpoints.map((name) => `${name}@${this.#mark(name)}`).join(",");
    const server = new TestServer(["--data-dir", this.dataDir, ...this.#args], { NIGHTSHIFT_FAILPOINTS: armed });
    this.#server = server;
    await server.says(this.#message);
    return server;
  }

  /** From now on the running server dies when it passes this failpoint. */
  arm(failpoint: string): void {
    writeFileSync(this.#mark(failpoint), "");
  }

  /** Resolves with the next server when the running one has died; rejects when it was not killed. */
  async next(failpoint: string): Promise<TestServer> {
    const exit = await (await this.running()).exited;
    if (exit.signal !== "SIGKILL") throw new Error(`The server ended with ${JSON.stringify(exit)}`);
    rmSync(this.#mark(failpoint));
    this.#server = null;
    return this.running();
  }

  #mark(failpoint: string): string {
    return join(this.dataDir, `armed-${failpoint}`);
  }

  async #clear(): Promise<void> {
    await this.#server?.stop();
    this.#server = null;
    if (this.dataDir !== "") rmSync(this.dataDir, { recursive: true, force: true });
    this.dataDir = "";
  }
}
