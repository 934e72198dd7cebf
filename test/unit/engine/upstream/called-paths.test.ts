import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { LoadScrape } from "../../../../engine/upstream/load-scrape.ts";
import { PLAIN_SUBMISSION } from "../../../plain-submission.ts";
import { UPSTREAM_KINDS } from "../../../upstream/dialect.ts";
import { chat, fake, outcomeOf, upstreamOf } from "./upstream-rig.ts";

const page = readFileSync(new URL("../../../../docs/upstreams.md", import.meta.url), "utf8");
/** Those that docs/upstreams.md names. */
const documented = [...page.matchAll(/^\| (`\/.*`) \| (GET|POST) \|/gm)].flatMap(([, paths = "", method]) =>
  paths.split(", ").map((path) => `${method} ${path.replaceAll("`", "")}`),
);

test.each(UPSTREAM_KINDS)("of %s no paths are called but the documented ones", async (kind) => {
  const upstream = await fake({ kind });
  const { engine, access } = await upstreamOf([upstream]);
  const never = new AbortController().signal;
  await outcomeOf(engine, chat("a"));
  await outcomeOf(engine, { ...PLAIN_SUBMISSION, prompt: { kind: "text", text: "a" } });
  await new LoadScrape(access.replicas[0]!, access).look(["m"], never);
  const text = { kind: "text" as const, text: "a", opening: false, special: false, pieces: false };
  for (const question of [text, { kind: "prompt" as const, prompt: chat("a").prompt, pieces: false }]) {
    await engine.tokenize(question, never).catch(() => {});
  }
  const inputs = [[{ kind: "text" as const, text: "a" }], [{ kind: "pair" as const, query: "a", document: "b" }]];
  for (const some of inputs) {
    await new Promise<void>((resolve) => {
      const ended = () => resolve();
      const listener = { accepted: () => {}, started: () => {}, vector: ended, failed: ended, mayRestart: () => false };
      engine.embed({ inputs: some, tier: "default", owner: "o", endpoint: "/v1/embeddings" }, listener);
    });
  }
  const called = new Set(upstream.requests.map(({ method, path }) => `${method} ${path}`));
  expect(called.size).toBeGreaterThan(3);
  expect([...called].filter((one) => !documented.includes(one))).toEqual([]);
});
