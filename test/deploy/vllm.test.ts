import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { upstreamConfigs } from "../../server/models/upstream-models.ts";
import { readOptions } from "../../server/options/read.ts";

const deploy = new URL("../../deploy/", import.meta.url);
const { services, volumes } = parse(readFileSync(new URL("compose.vllm.yaml", deploy), "utf8"));
const { vllm, nightshift } = services;
const flag = (name: string) => vllm.command.find((text: string) => text.startsWith(`--${name}=`))?.split("=")[1];

async function upstream() {
  const [file = ""] = nightshift.volumes[0].split(":");
  const options = await readOptions({ config: fileURLToPath(new URL(file, deploy)) }, {}, "/");
  const configs = await upstreamConfigs(options, { VLLM_API_KEY: "secret-of-the-test" });
  expect(configs).toHaveLength(1);
  return configs[0]!;
}

it("vLLM has no port outside of its project, and its volume is declared", () => {
  expect(vllm.ports).toBeUndefined();
  expect(Object.keys(volumes)).toEqual(vllm.volumes.map((volume: string) => volume.split(":")[0]));
});

it("Nightshift reads the mounted file, which names vLLM's service and its key", async () => {
  const [file, mounted] = nightshift.volumes[0].split(":");
  expect(existsSync(new URL(file, deploy))).toBe(true);
  expect(nightshift.environment.NIGHTSHIFT_CONFIG).toBe(mounted);
  const { replicas, apiKey } = await upstream();
  expect(replicas).toEqual([{ url: "http://vllm:8000/v1", weight: 1 }]);
  expect(Object.keys(services)).toContain(new URL(replicas[0]!.url).hostname);
  expect(apiKey).toBe("secret-of-the-test");
  expect(nightshift.environment.VLLM_API_KEY).toBe(vllm.environment.VLLM_API_KEY);
});

it("priorities are sent, and vLLM takes them", async () => {
  expect((await upstream()).priority).toBe("vllm");
  expect(flag("scheduling-policy")).toBe("priority");
});
