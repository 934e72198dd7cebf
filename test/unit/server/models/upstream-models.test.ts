import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { upstreamConfigs } from "../../../../server/models/upstream-models.ts";
import { upstreams } from "../../../../server/options/kinds/upstream-kind.ts";

/** The configurations of these settings, with objectives. */
function configs(value: unknown, env: Record<string, string> = {}, slo: number | "auto" = "auto") {
  return upstreamConfigs(
    { upstream: upstreams().schema.parse(value), sloTtftMs: slo, sloItlMs: slo, cacheScope: "owner" },
    env,
  );
}
const keyed = (fields: object) => ({ a: { url: "http://a", ...fields } });

function keyFile(content: string | Uint8Array): string {
  const folder = mkdtempSync(join(tmpdir(), "nightshift-key-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "key");
  writeFileSync(path, content);
  return path;
}

describe("the configurations of upstreams", () => {
  it("have the API key of the environment, or of a file, without the spaces around it", async () => {
    expect(await configs(keyed({ apiKeyEnv: "KEY" }), { KEY: " sk-1\n" })).toMatchObject([{ apiKey: "sk-1" }]);
    expect(await configs(keyed({ apiKeyFile: keyFile("sk-2\n") }))).toMatchObject([{ apiKey: "sk-2" }]);
    expect(await configs("a=http://a")).toMatchObject([{ apiKey: null }]);
  });

  it("do not keep where the key came from", async () => {
    const [config] = await configs(keyed({ apiKeyEnv: "KEY" }), { KEY: "sk-1" });
    expect(Object.keys(config!)).not.toContain("apiKeyEnv");
  });

  it.each<[string, object, string]>([
    ["an unset variable", { apiKeyEnv: "NONE" }, "environment variable NONE"],
    ["an empty variable", { apiKeyEnv: "EMPTY" }, "environment variable EMPTY"],
    ["a key that no header can have", { apiKeyEnv: "WRONG" }, "environment variable WRONG"],
    ["a file that is not there", { apiKeyFile: "/nowhere/key" }, "file /nowhere/key"],
  ])("are refused with %s, without the key", async (_, fields, from) => {
    const refused = configs(keyed(fields), { EMPTY: " ", WRONG: "sk 1\nx" });
    await expect(refused).rejects.toThrow(`The upstream 'a' takes its API key from the ${from}, which has none.`);
  });

  it("are refused with a key file of other bytes", async () => {
    await expect(configs(keyed({ apiKeyFile: keyFile(Uint8Array.of(0, 1, 2)) }))).rejects.toThrow("which has none");
  });

  it("have the objectives of the options; between two tokens a fixed one where that is automatic", async () => {
    expect(await configs("a=http://a")).toMatchObject([{ sloTtftMs: "auto", sloItlMs: 200 }]);
    expect(await configs("a=http://a", {}, 7)).toMatchObject([{ sloTtftMs: 7, sloItlMs: 7 }]);
  });
});
