import { expect, test } from "vitest";
import type { EmbeddingListener, RequestListener } from "../../../../engine/engine.ts";
import type { ApiError } from "../../../../openapi/api-error.ts";
import { CHAT, chat, fake, outcomeOf, upstreamOf } from "./upstream-rig.ts";

/** A listener whose given event throws. */
function throwing(event: "accepted" | "started" | "output", failed: (error: ApiError) => void): RequestListener {
  const fault = () => {
    throw new Error("a fault of the listener");
  };
  const nothing = () => {};
  const listener = { accepted: nothing, started: nothing, output: nothing, failed, mayRestart: () => false };
  return { ...listener, [event]: fault };
}

test.each(["accepted", "started", "output"] as const)(
  "a listener that throws at %s ends its own request alone",
  async (event) => {
    const upstream = await fake();
    const { engine, access, told } = await upstreamOf([upstream]);
    const error = await new Promise<ApiError>((resolve) => engine.submit(chat("a b"), throwing(event, resolve)));
    expect(error).toMatchObject({ status: 500, code: "internal_error" });
    expect(told.log).toMatchObject([{ upstream: "up", err: { message: "a fault of the listener" } }]);
    expect(engine.pending).toBe(0);
    expect(access.replicas[0]!.requests).toBe(0);
    expect(await outcomeOf(engine, chat("c d"))).toBe("c d");
  },
);

test("a listener that throws at its failure too is logged", async () => {
  const upstream = await fake();
  const { engine, told } = await upstreamOf([upstream]);
  const failing = () => {
    throw new Error("again");
  };
  engine.submit(chat("a"), throwing("output", failing));
  await expect
    .poll(() => told.log)
    .toMatchObject([{ err: { message: "a fault of the listener" } }, { err: { message: "again" } }]);
  expect(await outcomeOf(engine, chat("c"))).toBe("c");
});

test("a listener of vectors that throws ends its own request alone", async () => {
  const upstream = await fake();
  const { engine, told } = await upstreamOf([upstream]);
  const submission = {
    tier: "default" as const,
    owner: "o",
    endpoint: "/v1/embeddings",
    inputs: [{ kind: "text" as const, text: "a" }],
  };
  const error = await new Promise<ApiError>((resolve) => {
    const listener: EmbeddingListener = {
      accepted: () => {},
      started: () => {
        throw new Error("a fault");
      },
      vector: () => {},
      failed: resolve,
      mayRestart: () => false,
    };
    engine.embed(submission, listener);
  });
  expect(error.code).toBe("internal_error");
  expect(told.log).toMatchObject([{ err: { message: "a fault" } }]);
  expect(upstream.seen(CHAT)).toHaveLength(0);
  expect(engine.pending).toBe(0);
});
