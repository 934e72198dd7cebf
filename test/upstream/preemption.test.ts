import { join } from "node:path";
import Database from "better-sqlite3";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { complete } from "../api/ask.ts";
import { readied, TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";
import { chatLine, freshDataDir, ids, jsonl, reaches, results, submit } from "../batch/batch-rig.ts";
import { FakeUpstream } from "./fake-upstream.ts";

const CHAT = "/v1/chat/completions";
const SLOTS = 4;
const LINES = Array.from({ length: 12 }, (_, nth) => chatLine(`l${nth}`, `line ${nth} of many`, { model: "m" }));

let box: FakeUpstream;
let server: TestServer;
let dataDir: string;
/** False: answers of batch lines stay without an end. */
let lineEnds: boolean;
beforeEach(async () => {
  dataDir = freshDataDir();
  lineEnds = false;
  box = await FakeUpstream.start({ kind: "llama-server", slots: SLOTS });
  box.script = ({ body }) => {
    return !lineEnds && JSON.stringify(body).includes("of many") ? { kind: "stall", after: 2 } : null;
  };
  onTestFinished(() => box.stop().catch(() => {}));
  server = await readied(new TestServer(["--upstream", `box=${box.baseUrl}`, "--data-dir", dataDir]));
  onTestFinished(() => server.stop());
});

/** A batch whose answers have begun in all slots. */
async function saturate(): Promise<string> {
  const { id } = await submit(server.client, jsonl(LINES));
  await until("all slots to be taken", () => box.generatedTokens >= SLOTS * 2);
  return id;
}
async function preempted(): Promise<number> {
  return (await server.metrics()).sum("nightshift_upstream_requests_total", { status: "preempted" });
}

describe("a batch in all slots of a llama-server", () => {
  it("gives way to online requests, and has each line once, charged once", async () => {
    const id = await saturate();
    // Without a preemption it would wait for an answer that never ends.
    const answer = await complete(server.client, "now please", { model: "m" });
    expect(answer.choices[0]!.message.content).toBe("now please");
    expect(await preempted()).toBeGreaterThan(0);
    expect((await server.metrics()).sum("nightshift_upstream_preempted_tokens_total")).toBeGreaterThan(0);
    lineEnds = true;
    // Those that hang are ended by a restart of the box.
    await box.stop();
    await box.restart();
    const batch = await reaches(server.client, id, "completed");
    expect(batch.request_counts).toEqual({ total: LINES.length, completed: LINES.length, failed: 0 });
    const { output, errors } = await results(server.client, batch);
    expect(errors).toEqual([]);
    expect(ids(output)).toEqual(ids(LINES));
    for (const { custom_id, response } of output) {
      expect(response?.body.choices[0]?.message.content).toBe(`line ${custom_id.slice(1)} of many`);
    }
    expect(batch.usage).toMatchObject({ output_tokens: 4 * LINES.length });
    const db = new Database(join(dataDir, "nightshift.db"), { readonly: true });
    const charged = db.prepare("SELECT count(*) AS rows, count(DISTINCT line) AS lines FROM ledger WHERE batch_id = ?");
    expect(charged.get(id)).toEqual({ rows: LINES.length, lines: LINES.length });
    db.close();
  });

  it("that is cancelled after a preemption leaves nothing there", async () => {
    const id = await saturate();
    await complete(server.client, "now", { model: "m" });
    await server.client.batches.cancel(id);
    await reaches(server.client, id, "cancelled");
    await until("its requests to be gone", () => box.inFlight === 0);
    const metrics = await server.metrics();
    expect(metrics.sum("nightshift_upstream_inflight")).toBe(0);
    expect(metrics.sum("nightshift_upstream_queued")).toBe(0);
    expect(box.seen(CHAT).length).toBeLessThan(LINES.length + 1);
  });
});
