import { expect, test, vi } from "vitest";
import { Seal } from "../../../../server/dialects/responses/sealed-text.ts";
import { ResponseStreams } from "../../../../server/stored/response-streams.ts";
import { noResponse } from "../../../../server/stored/responses.ts";
import type { StreamPage } from "../../../../store/tables/answers/response-streams.ts";

const ID = "resp_a";
const ROW = {
  seq: 1,
  id: ID,
  owner: "me",
  model: "demo",
  status: "queued",
  background: 1,
  conversation: null,
  depth: 1,
  chainItems: 0,
  chainBytes: 0,
  children: 0,
  object: JSON.stringify({ id: ID, tools: [], reasoning: { summary: null } }),
  createdAt: 0,
} as const;

/** The streams of a store with one response, which the test changes. */
function streamsOf(
  page: Omit<StreamPage, "more">,
  get: () => Promise<object> = async () => ({ id: ID, status: page.row.status }),
) {
  const store = { responseStreams: { read: async () => ({ ...page, more: false }), beginRun: vi.fn(), say: vi.fn() } };
  return new ResponseStreams({ store, responses: { get }, seal: new Seal(Buffer.alloc(32)) });
}

test("a response whose batch ended it unannounced ends its streams within 15 s", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const page: Pick<StreamPage, "row" | "sealed" | "rows"> = { row: ROW, sealed: 0, rows: [] };
    const streams = streamsOf(page);
    const events = streams.events({ owner: "me", id: ID, after: -1, signal: new AbortController().signal });
    expect((await events.next()).value).toMatch(/^event: response.created\n.*\n\nevent: response.queued\n/);
    const last = events.next();
    await vi.advanceTimersByTimeAsync(14_999);
    page.row = { ...ROW, status: "cancelled" };
    await vi.advanceTimersByTimeAsync(1);
    expect((await last).value).toBe("");
    expect(await events.next()).toMatchObject({ done: true });
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test("a stream ends without an error where the response is removed with its end", async () => {
  const page: Pick<StreamPage, "row" | "sealed" | "rows"> = { row: ROW, sealed: 0, rows: [] };
  const get = () => Promise.reject(noResponse(ID));
  const streams = streamsOf(page, get);
  const events = streams.events({ owner: "me", id: ID, after: -1, signal: new AbortController().signal });
  await events.next();
  const last = events.next();
  page.row = { ...ROW, status: "cancelled" };
  streams.changed(ID);
  expect((await last).value).toBe("");
  expect(await events.next()).toMatchObject({ done: true });
});

test("a stream ends when its reader leaves, and when the server stops", async () => {
  const streams = streamsOf({ row: ROW, sealed: 0, rows: [] });
  const leaving = new AbortController();
  for (const [signal, end] of [
    [leaving.signal, () => leaving.abort()],
    [new AbortController().signal, () => streams.close()],
  ] as const) {
    const events = streams.events({ owner: "me", id: ID, after: -1, signal });
    await events.next();
    const next = events.next();
    end();
    expect(await next).toMatchObject({ done: true });
  }
});
