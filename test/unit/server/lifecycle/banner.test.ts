import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { banner } from "../../../../server/lifecycle/banner.ts";
import { FACTS } from "../cli/facts.ts";

const url = "http://127.0.0.1:9000";
const identity = { url, ollama: true, version: "1.0.0", keyVariable: null };
const content = { ...identity, demo: false, command: "nightshift", startMs: 1234 };

it("names models, context, sequences and compute", () => {
  const text = banner({ ...content, onDemand: [], models: [FACTS, { ...FACTS, model: "other" }] });
  expect(text).toContain("small: llama 0.5B Q8_0; context 8,192 tokens, 32 sequences");
  expect(text).toContain("other: llama 0.5B Q8_0");
  expect(text).toContain("cpu on Some CPU, 3 threads (llama.cpp 1.2.3)");
  expect(text).not.toContain("hf:owner/repo");
});

it("names the base URL of each API that is served", () => {
  const all = banner({ ...content, onDemand: [], models: [FACTS] });
  expect(all).toContain(`
  Base URL  http://127.0.0.1:9000/v1  OpenAI: chat completions, Responses
            http://127.0.0.1:9000     Anthropic: Messages
            http://127.0.0.1:9000     Ollama
  Model     small`);
  expect(banner({ ...content, ollama: false, onDemand: [], models: [FACTS] })).not.toContain("Ollama");
});

it("names the socket, and base URLs behind it", () => {
  const text = banner({ ...content, url: "unix:/run/a b.sock", onDemand: [], models: [FACTS] });
  expect(text).toContain("  Socket    /run/a b.sock\n  Base URL  http://localhost/v1  OpenAI");
  expect(text).toContain("curl --unix-socket '/run/a b.sock' -N http://localhost/v1/chat/completions");
});

it("shows how to serve another model if only the demo model is served", () => {
  const text = banner({ ...content, onDemand: [], models: [FACTS], demo: true, command: "npm start --" });
  expect(text).toContain("npm start -- --model hf:owner/repo:Q4_K_M");
});

it.each(["demo", "o'brien", '$(reboot)"`'])(
  "has a curl line that a shell takes as it stands for the name %s",
  (model) => {
    const line = banner({ ...content, onDemand: [], models: [{ ...FACTS, model }] })
      .split("\n")
      .find((each) => each.includes("curl"))!
      .trim();
    // The shell's own parser splits it; curl is replaced by a function that prints its arguments.
    const args = execFileSync("sh", ["-c", `curl() { printf '%s\\n' "$@"; }\n${line}`], { encoding: "utf8" })
      .trim()
      .split("\n");
    expect(args[1]).toBe("http://127.0.0.1:9000/v1/chat/completions");
    expect(JSON.parse(args.at(-1)!)).toMatchObject({ model, stream: true });
  },
);

it("has the API key in the curl line if keys are on", () => {
  const text = banner({ ...content, onDemand: [], models: [FACTS], keyVariable: "NIGHTSHIFT_API_KEY" });
  expect(text).toContain(
    'curl -N http://127.0.0.1:9000/v1/chat/completions -H "Authorization: Bearer $NIGHTSHIFT_API_KEY" -H',
  );
});

it.each([
  ["mean", "embeddings alone", "/v1/embeddings"],
  ["rank", "ranks documents", "/v1/rerank"],
] as const)(
  "of a model with pooling %s that does not generate it says so, and asks what it can answer",
  (pooling, says, path) => {
    const embedding = { pooling, width: 1, context: 512 };
    const text = banner({ ...content, onDemand: [], models: [{ ...FACTS, generates: false, embedding }] });
    expect(text).toContain(says);
    expect(text).toContain(`${path} -H`);
    expect(text).not.toContain("/v1/chat");
  },
);

it("names ten models on demand, and counts the others", () => {
  const onDemand = Array.from({ length: 12 }, (_, i) => `m${i}`);
  const text = banner({ ...content, onDemand, models: [] });
  expect(text).toContain("m9: loaded on its first request\n            and 2 more\n");
  expect(text).not.toContain("m10");
});

it("has no request to try where no model answers yet, and says where the reason is", () => {
  const text = banner({ ...content, onDemand: [], models: [] });
  expect(text).not.toContain("Try it");
  expect(text).toContain("  Model     none answers yet: the log says why");
});
