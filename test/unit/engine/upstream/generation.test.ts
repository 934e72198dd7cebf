import { expect, test } from "vitest";
import type { Submission } from "../../../../engine/engine.ts";
import { Generation } from "../../../../engine/upstream/generation.ts";
import { chat, fake, upstreamOf } from "./upstream-rig.ts";

const TOOL = { type: "function" as const, function: { name: "look", parameters: {} } };

function withTools(submission: Submission): Submission {
  const { prompt } = submission;
  return prompt.kind === "chat" ? { ...submission, prompt: { ...prompt, tools: [TOOL] } } : submission;
}

test.each<[string, Submission, boolean | null]>([
  ["of tier priority may be hedged", chat("a", { tier: "priority" }), true],
  ["of tier priority with tools is measured alone", withTools(chat("a", { tier: "priority" })), false],
  ["of tier default is measured alone", chat("a", { tier: "default" }), false],
  ["of flex is neither hedged nor measured", chat("a", { tier: "flex" }), null],
  ["of batch is neither hedged nor measured", chat("a", { tier: "batch" }), null],
])("a request %s", async (_, submission, mayHedge) => {
  const { access } = await upstreamOf([await fake()]);
  const nothing = () => {};
  const listener = { accepted: nothing, started: nothing, output: nothing, failed: nothing, mayRestart: () => false };
  const { hedge } = new Generation({
    ...{ access, upstreamModel: "m", context: 100, submission, listener },
    completionTokens: () => false,
    attemptFailed: nothing,
  });
  expect(hedge?.mayHedge ?? null).toBe(mayHedge);
});
