import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readied, TestServer } from "../api/server.ts";
import { FakeUpstream } from "./fake-upstream.ts";
import type { UpstreamOptions } from "./upstream-options.ts";

/** The settings of an upstream in a file of options, beside its fake. */
export type FakeSettings = Partial<UpstreamOptions> & { settings?: Record<string, unknown> };

/** The path of a file of options with these upstreams; JSON is YAML. */
export function optionsFile(upstream: Readonly<Record<string, unknown>>): string {
  const folder = mkdtempSync(join(tmpdir(), "nightshift-upstreams-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "nightshift.yaml");
  writeFileSync(path, JSON.stringify({ upstream }));
  return path;
}

/** A built server whose models are those of fake upstreams. */
export class ServedFakes {
  readonly server: TestServer;
  readonly #fakes: ReadonlyMap<string, FakeUpstream>;

  private constructor(server: TestServer, fakes: ReadonlyMap<string, FakeUpstream>) {
    this.server = server;
    this.#fakes = fakes;
  }

  /** A fake's model has the fake's name unless it says otherwise. */
  static async start(
    all: Readonly<Record<string, FakeSettings>>,
    args: readonly string[] = [],
    env: Record<string, string> = {},
  ): Promise<ServedFakes> {
    const fakes = new Map<string, FakeUpstream>();
    for (const [name, { settings: _, ...options }] of Object.entries(all)) {
      fakes.set(name, await FakeUpstream.start({ kind: "vllm", model: name, ...options }));
    }
    const upstream = Object.fromEntries(
      [...fakes].map(([name, { baseUrl }]) => [name, { url: baseUrl, ...all[name]?.settings }]),
    );
    const server = await readied(new TestServer(["--config", optionsFile(upstream), ...args], env));
    return new ServedFakes(server, fakes);
  }

  fake(name: string): FakeUpstream {
    return this.#fakes.get(name)!;
  }

  /** Every fake behaves again, and has seen nothing. */
  reset(): void {
    for (const fake of this.#fakes.values()) {
      fake.script = () => null;
      fake.requests.length = 0;
    }
  }

  async stop(): Promise<void> {
    await this.server.stop();
    for (const fake of this.#fakes.values()) await fake.stop();
  }
}
