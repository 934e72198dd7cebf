import { expect, test } from "vitest";
import { ApiError, unavailable } from "../../../../openapi/api-error.ts";
import { overload } from "../../../../server/admission/overload.ts";
import { Deferral } from "../../../../server/inference/deferral.ts";
import type { Exchange } from "../../../../server/inference/exchange.ts";

const EXCHANGE = {
  req: { headers: { prefer: "respond-async" } },
  caller: { owner: "local", key: null },
  id: "req_1",
  throwIfGone: () => {},
} as unknown as Exchange;
const LOG = { debug: () => {} } as never;

function refused(failure: Error): Promise<unknown> {
  const deferral = Deferral.preferred(EXCHANGE, "/v1/chat/completions", {})!;
  return deferral.replace(REFUSAL, { jobs: { create: () => Promise.reject(failure) }, log: LOG });
}

const REFUSAL = overload("default", "The queue is full.", 2000);

test("a limit on batches leaves the refusal, which passes", async () => {
  const limit = new ApiError("rate_limit_exceeded", "You have 2 batches that are not over.", { shouldRetry: false });
  expect(await refused(limit)).toBe(REFUSAL);
});

test("a store that is unavailable is the answer", async () => {
  const failure = unavailable("store_unavailable", "The store is closed.", 1);
  expect(await refused(failure)).toBe(failure);
});
