import { expect, test } from "vitest";
import { CHAT, chat, fake, outcomeOf, upstreamOf } from "./upstream-rig.ts";

const NEWER =
  "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";

test("a model that takes only max_completion_tokens is sent it after its first refusal", async () => {
  const upstream = await fake({ kind: "hosted" });
  upstream.script = ({ body }) => {
    const error = { message: NEWER, type: "invalid_request_error", param: "max_tokens", code: "unsupported_parameter" };
    return Object.hasOwn(Object(body), "max_tokens") ? { kind: "status", status: 400, body: { error } } : null;
  };
  const { engine, told } = await upstreamOf([upstream]);
  for (const text of ["a", "b"]) expect(await outcomeOf(engine, chat(text, { maxTokens: 7 }))).toBe(text);
  const sent = upstream.seen(CHAT).map(({ body }) => [Object(body).max_tokens, Object(body).max_completion_tokens]);
  expect(sent).toEqual([
    [7, undefined],
    [undefined, 7],
    [undefined, 7],
  ]);
  expect(told.retried).toEqual(["ours"]);
});

async function salts(kind: "vllm" | "sglang" | "hosted", cacheScope: "owner" | "global") {
  const upstream = await fake({ kind });
  const { engine } = await upstreamOf([upstream], { cacheScope });
  for (const owner of ["one", "two", "one"]) await outcomeOf(engine, chat("a", { owner }));
  return upstream.seen(CHAT).map(({ body }) => Object(body).cache_salt);
}

test("vLLM gets a salt by owner, which does not name it", async () => {
  const [first, second, third] = await salts("vllm", "owner");
  expect(first).toMatch(/^[\w-]{43}$/);
  expect(second).toMatch(/^[\w-]{43}$/);
  expect(second).not.toBe(first);
  expect(third).toBe(first);
});

test("no salt is sent where owners share prefixes, or to another kind", async () => {
  for (const sent of [await salts("vllm", "global"), await salts("sglang", "owner"), await salts("hosted", "owner")]) {
    expect(sent).toEqual([undefined, undefined, undefined]);
  }
});
