import { openStore } from "../../store/store.ts";
import type { AnswerWrite, NewCompletion, NewItem, NewResponse } from "../../store/types/answer-rows.ts";

export interface StoredPlan {
  /** Stored responses, and as many stored chat completions. */
  answers: number;
  /** Responses of each chain, and of the one long chain beside them. */
  chain: number;
  longChain: number;
  /** Characters of each text. */
  characters: number;
}

export const SILENT = { info() {}, error() {} };

/** The owner of every request while API keys are off. */
export const OWNER = "local";
const JOBS = 100;
/** Writes in flight, which share commits. */
const AT_ONCE = 500;
const UNBOUNDED: AnswerWrite = { owner: OWNER, keyId: null, bounds: { quotaBytes: null, maxAnswers: 2 ** 31 } };

export const responseId = (n: number) => `resp_bench${n}`;
export const longId = (turn: number) => `resp_long${turn}`;
export const completionId = (n: number) => `chatcmpl-bench${n}`;
/** Pairs of metadata: one of all completions, one of a hundredth, one of two halves, and one of a single completion. */
export const metadataOf = (n: number) => ({
  all: "1",
  half: String(n % 2),
  job: String(n % JOBS),
  n: String(n),
});

/** Fills a data directory by the store's own operations; nothing is generated. `createdAt` in Unix seconds. */
export async function fillStored(dataDir: string, plan: StoredPlan, createdAt: number): Promise<void> {
  const store = await openStore({ dataDir, log: SILENT });
  const text = "x".repeat(plan.characters);
  const parents = (n: number) => (n % plan.chain === 0 ? null : responseId(n - 1));
  const keep = (id: string, parent: string | null) => store.responses.keep(response(id, parent, text, createdAt));
  for (let turn = 0; turn < plan.longChain; turn++) await keep(longId(turn), turn === 0 ? null : longId(turn - 1));
  // A turn of every chain at once: each needs the one before it.
  for (let turn = 0; turn < plan.chain; turn++) {
    const turns = [...Array(plan.answers).keys()].filter((n) => n % plan.chain === turn);
    await inGroups(turns, async (n) => {
      const outcome = await keep(responseId(n), parents(n));
      if (outcome !== "kept") throw new Error(`the store kept no response: ${outcome}`);
    });
  }
  await inGroups([...Array(plan.answers).keys()], async (n) => {
    await store.completions.insert(completion(n, text, createdAt));
  });
  await store.close();
}

async function inGroups(numbers: readonly number[], write: (n: number) => Promise<void>): Promise<void> {
  for (let start = 0; start < numbers.length; start += AT_ONCE) {
    await Promise.all(numbers.slice(start, start + AT_ONCE).map(write));
  }
}

function response(id: string, parent: string | null, text: string, createdAt: number): NewResponse {
  const usage = { input_tokens: 20, output_tokens: 20, total_tokens: 40 };
  const object = {
    id,
    object: "response",
    created_at: createdAt,
    status: "completed",
    model: "bench",
    output: [],
    usage,
  };
  const row = { id, model: "bench", status: "completed", background: 0, conversation: null, createdAt } as const;
  return {
    ...UNBOUNDED,
    row: { ...row, object: JSON.stringify({ ...object, previous_response_id: parent, tools: [], metadata: {} }) },
    parent,
    input: [message(`msg_${id}_in`, "user", text)],
    output: [message(`msg_${id}_out`, "assistant", text)],
  };
}

function message(id: string, role: string, text: string): NewItem {
  const type = role === "user" ? "input_text" : "output_text";
  return { id, item: JSON.stringify({ id, type: "message", role, status: "completed", content: [{ type, text }] }) };
}

function completion(n: number, text: string, createdAt: number): NewCompletion {
  const id = completionId(n);
  const choice = { index: 0, message: { role: "assistant", content: text }, finish_reason: "stop", logprobs: null };
  const object = JSON.stringify({
    id,
    object: "chat.completion",
    created: createdAt,
    model: "bench",
    choices: [choice],
  });
  const messages = JSON.stringify([{ role: "user", content: text }]);
  return { ...UNBOUNDED, row: { id, model: "bench", object, createdAt }, metadata: metadataOf(n), messages };
}
