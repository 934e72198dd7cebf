import { join } from "node:path";
import Database from "better-sqlite3";
import type OpenAI from "openai";
import { expect, test } from "vitest";
import { until } from "../api/until.ts";
import { KilledServers } from "./killed-servers.ts";

const FAILPOINTS = ["claim.after", "response.answered", "commit.before", "finalize.before-commit"];
/** The second write of a run's outputs, which comes 200 ms after the first. */
const SECOND_WRITE = "response.said:2";

const servers = new KilledServers(["batch.input", SECOND_WRITE, ...FAILPOINTS], [], "Ready");
type Event = OpenAI.Responses.ResponseStreamEvent;

const ASKED = { model: "demo", temperature: 0, background: true, input: "What is 7 + 8?" };

function inStore<Result>(read: (db: Database.Database) => Result): Result {
  const db = new Database(join(servers.dataDir, "nightshift.db"), { readonly: true });
  try {
    return read(db);
  } finally {
    db.close();
  }
}

test("kill -9 before the answer to a background request leaves no response", async () => {
  const doomed = await servers.running();
  await servers.arm("batch.input");
  await expect(doomed.client.responses.create(ASKED)).rejects.toThrow();
  const server = await servers.next("batch.input");
  expect((await server.client.batches.list()).data).toEqual([]);
  expect(inStore((db) => db.prepare("SELECT count(*) FROM responses").pluck().get())).toBe(0);
});

test.each(FAILPOINTS)("kill -9 of the server at %s: the response completes and is charged once", async (failpoint) => {
  const charges = () => inStore((db) => Number(db.prepare("SELECT count(*) FROM ledger").pluck().get()));
  const doomed = await servers.running();
  const earlier = charges();
  await servers.arm(failpoint);
  const { id } = await doomed.client.responses.create(ASKED);
  const server = await servers.next(failpoint);
  const batch = id.replace("resp_", "batch_");
  await until("its batch to end", async () => (await server.client.batches.retrieve(batch)).status === "completed");
  const response = await server.client.responses.retrieve(id);
  expect(response).toMatchObject({ status: "completed", output_text: "15" });
  expect(response.output).toHaveLength(1);
  expect(charges() - earlier).toBe(1);
});

test("kill -9 in the middle of a streamed response: its run begins again, and no number of an event is used twice", async () => {
  const doomed = await servers.running();
  await servers.arm(SECOND_WRITE);
  const seen: Event[] = [];
  // Long enough for a fast machine.
  const asked = { ...ASKED, stream: true, ignore_eos: true, max_output_tokens: 3000 } as const;
  const broken = async () => {
    for await (const event of await doomed.client.responses.create(asked)) seen.push(event);
  };
  await expect(broken()).rejects.toThrow();
  const [created] = seen;
  if (created?.type !== "response.created") throw new Error("no response was created");
  const { id } = created.response;
  const last = seen.at(-1)!.sequence_number;
  const { responses } = (await servers.next(SECOND_WRITE)).client;
  const rest: Event[] = [];
  for await (const event of await responses.retrieve(id, { stream: true, starting_after: last })) rest.push(event);
  // Events before it are those of the first run that the client had not read.
  const again = rest.findLastIndex(({ type }) => type === "response.in_progress");
  expect(rest[again]).toMatchObject({ response: { id, status: "in_progress", output: [] } });
  const numbers = [...seen, ...rest].map(({ sequence_number }) => sequence_number);
  expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
  const response = await responses.retrieve(id);
  const deltas = rest
    .slice(again)
    .flatMap((event) => (event.type === "response.output_text.delta" ? [event.delta] : []));
  expect(deltas.join("")).toBe(response.output_text);
  const helper = responses.stream({ response_id: id, starting_after: last });
  expect(await helper.finalResponse()).toMatchObject({ id, status: "incomplete", output_text: response.output_text });
});
