import { describe, expect, it, test } from "vitest";
import { refusedFeature } from "../../../../engine/upstream/answer/refused-feature.ts";
import type { Misbehaviour } from "../../../upstream/misbehaviour.ts";
import { CHAT, chat, fake, outcomeOf, run, upstreamOf } from "./upstream-rig.ts";

const AUTO = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set';

function refusal(message: string, status = 400): Misbehaviour {
  return { kind: "status", status, body: { error: { message, type: "BadRequestError", code: status } } };
}

function withTools() {
  const asked = chat("a");
  const tools = [{ type: "function" as const, function: { name: "f" } }];
  return { ...asked, prompt: { ...asked.prompt, kind: "chat" as const, tools } as typeof asked.prompt };
}

test.each([
  [AUTO, "--enable-auto-tool-choice"],
  ['tool_choice="required" requires --tool-call-parser to be set', "--tool-call-parser"],
  ["tools param requires --jinja flag", "--jinja"],
  ["registry.ollama.ai/library/gemma3:270m does not support tools", "template"],
])("%j is a refusal of tools, and says how to allow them", (message, remedy) => {
  const refused = refusedFeature({ message, status: 400, code: null, type: null, param: null });
  expect(refused?.feature).toBe("tools");
  expect(refused?.remedy).toContain(remedy);
});

test.each([
  `Invalid message: ${AUTO}`,
  `Value error, got 'gemma does not support tools'`,
  "This model's maximum context length is 4096 tokens.",
])("%j, which may quote the client, is none", (message) => {
  expect(refusedFeature({ message, status: 400, code: null, type: null, param: null })).toBeNull();
});

describe("an upstream without tools", () => {
  it("is asked once, and a warning names the remedy once", async () => {
    const upstream = await fake();
    const { engine, told } = await upstreamOf([upstream]);
    upstream.script = () => refusal(AUTO);
    expect(engine.facts?.takesTools).toBe(true);
    expect((await run(engine, withTools()).ended)?.message).toBe(
      "The upstream 'up' does not take tools for this model.",
    );
    expect(await outcomeOf(engine, withTools())).toBe("upstream_refused");
    expect(upstream.seen(CHAT)).toHaveLength(1);
    expect(engine.facts).toMatchObject({ takesTools: false, upstream: { refuses: expect.arrayContaining(["tools"]) } });
    expect(told.log.filter((line) => "feature" in line)).toMatchObject([
      { upstream: "up", model: "m", feature: "tools" },
    ]);
  });

  it("takes requests without tools on", async () => {
    const upstream = await fake();
    const { engine } = await upstreamOf([upstream]);
    upstream.script = () => refusal(AUTO);
    await outcomeOf(engine, withTools());
    upstream.script = () => null;
    expect(await outcomeOf(engine, chat("a b"))).toBe("a b");
  });

  it("is no fault of a llama-server that says so with a 500", async () => {
    const upstream = await fake({ kind: "llama-server" });
    const { engine, access } = await upstreamOf([upstream]);
    upstream.script = () => refusal("tools param requires --jinja flag", 500);
    for (let i = 0; i < 6; i++) expect(await outcomeOf(engine, withTools())).toBe("upstream_refused");
    expect(upstream.seen(CHAT)).toHaveLength(1);
    expect(access.replicas[0]?.breaker.state).toBe("closed");
  });

  it("is not turned off by a request without tools", async () => {
    const upstream = await fake();
    const { engine } = await upstreamOf([upstream]);
    upstream.script = () => refusal(AUTO);
    await outcomeOf(engine, chat("a"));
    expect(engine.facts?.takesTools).toBe(true);
  });

  it("is asked again after ten minutes, and when it was away", async () => {
    const upstream = await fake();
    const { engine, clock } = await upstreamOf([upstream]);
    upstream.script = () => refusal(AUTO);
    await outcomeOf(engine, withTools());
    clock.ms += 599_000;
    expect(engine.facts?.takesTools).toBe(false);
    clock.ms += 2000;
    expect(engine.facts?.takesTools).toBe(true);
    await outcomeOf(engine, withTools());
    engine.absent("It does not answer.", 5000);
    engine.present(4096);
    expect(engine.facts?.takesTools).toBe(true);
  });
});
