import { describe, expect, it } from "vitest";
import { endpointProblem, WebhookEndpoints } from "../../../webhooks/endpoint.ts";
import { EVENT_TYPES } from "../../../webhooks/event-types.ts";
import { batchEvents } from "../../../webhooks/outbox.ts";

describe("the URL of an endpoint", () => {
  it.each([
    ["hooks.example", /is not a URL/],
    ["ftp://hooks.example/", /neither https nor http/],
    ["https://user:word@hooks.example/", /user name or password/],
    ["http://hooks.example/", /is not https/],
    ["https://localhost/", /this machine or a private network/],
    ["https://127.0.0.1/", /private network/],
    ["https://2130706433/", /private network/],
    ["https://0x7f.1/", /private network/],
    ["https://017700000001/", /private network/],
    ["https://[::1]/", /private network/],
    ["https://[::ffff:10.0.0.1]/", /private network/],
    ["https://169.254.169.254/latest/meta-data", /private network/],
  ])("%s is refused", (url, why) => {
    expect(endpointProblem(url, false)).toMatch(why);
  });

  it("may be private and http when private addresses are allowed", () => {
    for (const url of ["http://127.0.0.1:9000/hook", "https://[::1]/", "http://hooks.internal/"]) {
      expect(endpointProblem(url, true)).toBeNull();
    }
    expect(endpointProblem("https://hooks.example/batch?token=1", false)).toBeNull();
    expect(endpointProblem("https://user@localhost/", true)).toMatch(/user name/);
  });
});

describe("the events of a batch", () => {
  const all = { url: "https://all.example/", secret: "a", events: EVENT_TYPES };
  const some = { url: "https://some.example/", secret: "b", events: ["batch.failed" as const] };
  const event = { id: "evt_1", type: "batch.completed" as const, batchId: "batch_1", nowMs: 1_700_000_000_500 };

  it("are one row per subscribed endpoint with the same id and payload", () => {
    const rows = batchEvents(new WebhookEndpoints([all, some]), { ...event, type: "batch.failed" });
    expect(rows.map(({ endpointUrl, id }) => [endpointUrl, id])).toEqual([
      [all.url, "evt_1"],
      [some.url, "evt_1"],
    ]);
    expect(new Set(rows.map(({ payload }) => payload)).size).toBe(1);
    expect(batchEvents(new WebhookEndpoints([all, some]), event)).toHaveLength(1);
  });

  it("have the fields of OpenAI's events", () => {
    const [row] = batchEvents(new WebhookEndpoints([all]), event);
    expect(JSON.parse(row!.payload)).toEqual({
      id: "evt_1",
      object: "event",
      type: "batch.completed",
      created_at: 1_700_000_000,
      data: { id: "batch_1" },
    });
    expect(row).toMatchObject({ type: "batch.completed", createdAt: 1_700_000_000, nextAtMs: 1_700_000_000_500 });
  });

  it("have no row for an endpoint that is gone", () => {
    const endpoints = new WebhookEndpoints([all]);
    endpoints.disable(all.url);
    expect(batchEvents(endpoints, event)).toEqual([]);
  });
});
