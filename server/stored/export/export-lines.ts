import type { ExportQuery } from "../../../openapi/stored/completions.ts";
import { loopTurn } from "../../../platform/loop-turn.ts";
import type { Store } from "../../../store/store.ts";
import type { ResponseRow } from "../../../store/types/answer-rows.ts";
import { completionSample, identity, isValidation, responseSample, type Sample } from "./sample.ts";

export type AnswerStore = Pick<Store, "completions" | "responses">;

/** A stored answer of which a sample can be made. */
interface Candidate {
  model: string;
  createdAt: number;
  metadata: Readonly<Record<string, unknown>>;
  finish: string;
  sample(): Promise<Sample | null> | Sample | null;
}

const READ_ROWS = 100;
const READ_ITEMS = 1000;

/**
 * The samples of an owner that fit the query, as lines of JSON, oldest first, each text once. One read of the store is in
 * memory at a time, and 6 bytes for each line that was written. A chain of responses is one sample, at its last response.
 */
export async function* exportLines(store: AnswerStore, owner: string, query: ExportQuery): AsyncGenerator<string> {
  const written = new Set<number>();
  for await (const candidate of candidates(store, owner, query)) {
    if (!fits(candidate, query)) continue;
    await loopTurn();
    const sample = await candidate.sample();
    if (sample === null) continue;
    if (query.split !== undefined) {
      const part = isValidation(sample, query.validation_percent) ? "validation" : "train";
      if (part !== query.split) continue;
    }
    const id = identity(sample);
    if (written.has(id)) continue;
    written.add(id);
    yield `${JSON.stringify(sample)}\n`;
  }
}

async function* candidates(store: AnswerStore, owner: string, { source }: ExportQuery): AsyncGenerator<Candidate> {
  if (source !== "responses") yield* completionCandidates(store, owner);
  if (source !== "chat.completions") yield* responseCandidates(store, owner);
}

function fits({ model, createdAt, metadata, finish }: Candidate, query: ExportQuery): boolean {
  if (query.model !== undefined && model !== query.model) return false;
  if (createdAt < (query.created_after ?? 0) || createdAt >= (query.created_before ?? Number.POSITIVE_INFINITY))
    return false;
  if (query.finish_reason === undefined ? finish === "length" : finish !== query.finish_reason) return false;
  return Object.entries(query.metadata ?? {}).every(([name, value]) => metadata[name] === value);
}

async function* completionCandidates({ completions }: AnswerStore, owner: string): AsyncGenerator<Candidate> {
  for (let after = 0; ; ) {
    const { rows, more } = await completions.export({ owner, after });
    for (const { model, createdAt, metadata, object, messages } of rows) {
      const completion = JSON.parse(object);
      const finish = String(completion.choices[0]?.finish_reason);
      const sample = () => completionSample(completion, JSON.parse(messages));
      yield { model, createdAt, metadata: JSON.parse(metadata), finish, sample };
    }
    after = rows.at(-1)?.seq ?? after;
    if (!more) return;
  }
}

async function* responseCandidates({ responses }: AnswerStore, owner: string): AsyncGenerator<Candidate> {
  for (let after = 0; ; ) {
    const { rows, hasMore } = await responses.list({ owner, after, limit: READ_ROWS });
    for (const row of rows) {
      const isLast = row.children === 0 && (row.status === "completed" || row.status === "incomplete");
      if (isLast) yield await responseCandidate(responses, row);
    }
    after = rows.at(-1)?.seq ?? after;
    if (!hasMore) return;
  }
}

async function responseCandidate(responses: AnswerStore["responses"], row: ResponseRow): Promise<Candidate> {
  const response = JSON.parse(row.object);
  const { model, createdAt, status, seq } = row;
  const { rows } = await responses.output({ seq, after: 0 });
  const ended = rows.some(({ item }) => JSON.parse(item).type === "function_call") ? "tool_calls" : "stop";
  const sample = async () => responseSample(response, await itemsOf(responses, seq));
  const finish = status === "incomplete" ? "length" : ended;
  return { model, createdAt, metadata: response.metadata ?? {}, finish, sample };
}

async function itemsOf(responses: AnswerStore["responses"], seq: number): Promise<Record<string, unknown>[]> {
  const items: Record<string, unknown>[] = [];
  for (let after = 0; ; ) {
    const { rows, more } = await responses.chain({ seq, after, order: "asc", withOutput: true, limit: READ_ITEMS });
    items.push(...rows.map(({ item }) => JSON.parse(item)));
    after = rows.at(-1)?.seq ?? after;
    if (!more) return items;
  }
}
