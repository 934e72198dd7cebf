import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, onTestFailed } from "vitest";
import { TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";

/**
 * Servers of one data directory, one after the other: a test kills one at a failpoint, and the next server, which recovers
 * from that, is the one that the next test kills. This saves every second start.
 */
export class KilledServers {
  dataDir = "";
  #server: TestServer | null = null;
  readonly #failpoints: readonly string[];
  readonly #args: readonly string[];
  readonly #message: string;

  /** @param message the log message after which a test gets the server */
  constructor(failpoints: readonly string[], args: readonly string[], message: string) {
    this.#failpoints = failpoints;
    this.#args = args;
    this.#message = message;
    afterAll(() => this.#clear());
  }

  /** The running server, or a new one. After a failed test it has a new directory. */
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

  /**
   * From now on the running server dies when it passes this failpoint. First the clean-up of earlier batches must be over,
   * so that only the test's own work passes it.
   */
  async arm(failpoint: string): Promise<void> {
    const db = new Database(join(this.dataDir, "nightshift.db"), { readonly: true });
    const left = db.prepare("SELECT (SELECT count(*) FROM lines) + (SELECT count(*) FROM results)").pluck();
    try {
      await until("earlier batches to be cleaned up", () => left.get() === 0);
    } finally {
      db.close();
    }
    writeFileSync(this.#mark(failpoint), "");
  }

  /** Resolves with the next server after the death of the running one; rejects when it was not killed. */
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
