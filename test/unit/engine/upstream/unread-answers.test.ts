import { describe, expect, it } from "vitest";
import { LoadScrape } from "../../../../engine/upstream/load-scrape.ts";
import { chat, fake, outcomeOf, upstreamOf } from "./upstream-rig.ts";

// Every error that nothing catches fails the run of the tests.
describe("an answer that is not read ends no process", () => {
  const never = new AbortController().signal;

  it("of a llama-server without metrics", async () => {
    const upstream = await fake({ kind: "llama-server", metrics: false });
    const { access, engine } = await upstreamOf([upstream]);
    await new LoadScrape(access.replicas[0]!, access).look(["m"], never);
    expect(upstream.seen("/metrics")).not.toEqual([]);
    expect(access.replicas[0]?.loadAt).toBeNull();
    expect(await outcomeOf(engine, chat("a"))).toBe("a");
  });

  it("of a tokenizer that fails", async () => {
    const upstream = await fake({ kind: "llama-server" });
    const { engine } = await upstreamOf([upstream]);
    upstream.script = ({ path }) => (path === "/tokenize" ? { kind: "status", status: 500 } : null);
    const question = { kind: "text" as const, text: "a", opening: false, special: false, pieces: false };
    await expect(engine.tokenize(question, never)).rejects.toMatchObject({ code: "upstream_failed" });
    expect(await outcomeOf(engine, chat("a"))).toBe("a");
  });
});
