import { expect, test } from "vitest";
import type { Caller } from "../../../../../ledger/key.ts";
import { DEFAULT_REQUEST_LIMITS } from "../../../../../openapi/request-limits.ts";
import type { Item } from "../../../../../openapi/responses/item.ts";
import type { ResponseObject } from "../../../../../openapi/responses/response.ts";
import type { ResponseState } from "../../../../../server/dialects/responses/response-state.ts";
import { responsesDialect } from "../../../../../server/dialects/responses/responses.ts";
import { Seal } from "../../../../../server/dialects/responses/sealed-text.ts";
import type { GenerationRequest } from "../../../../../server/generation/request.ts";

const IDENTITY = { id: "resp_x", created: 1, model: "demo", tier: "default" as const, fingerprint: "fp" };
const END = {
  usage: {
    prompt_tokens: 3,
    completion_tokens: 2,
    total_tokens: 5,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  },
  times: { queue: 100, prefill: 400, decode: 2000 },
};
const FINISH = { reason: "stop" as const, stop: null, completionTokens: 2, reasoningTokens: 0 };
const CHOICE = { text: "Paris", reasoning: "hm", calls: [], finish: FINISH, logprobs: null, promptLogprobs: [] };

const said = (id: string, role: "user" | "assistant", text: string): Item =>
  role === "user"
    ? { id, type: "message", role, status: "completed", content: [{ type: "input_text", text }] }
    : {
        id,
        type: "message",
        role,
        status: "completed",
        content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
      };

class FakeState implements ResponseState {
  readonly asked: unknown[] = [];
  readonly locked = new Set<string>();
  readonly kept: { owner: string; response: ResponseObject; input: readonly Item[] }[] = [];

  async context(owner: string, from: object): Promise<Item[]> {
    this.asked.push([owner, from]);
    return [said("msg_1", "user", "Capital of Italy?"), said("msg_2", "assistant", "Rome")];
  }

  async items(owner: string, ids: readonly string[]): Promise<ReadonlyMap<string, Item>> {
    this.asked.push([owner, ids]);
    return new Map(ids.map((id) => [id, said(id, "assistant", `stored ${id}`)]));
  }

  async lockConversation(owner: string, id: string): Promise<() => void> {
    this.locked.add(`${owner} ${id}`);
    return () => void this.locked.delete(`${owner} ${id}`);
  }

  async reserve(): Promise<() => void> {
    return () => {};
  }

  async keep({ owner }: Caller, response: ResponseObject, input: readonly Item[]): Promise<void> {
    this.kept.push({ owner, response, input });
  }
}

const CALLER = { owner: "ann", key: null };
const released: (() => void)[] = [];

async function read(body: object, state: ResponseState | null = new FakeState()): Promise<GenerationRequest> {
  const seal = new Seal(Buffer.alloc(32, 7));
  const dialect = responsesDialect({ limits: DEFAULT_REQUEST_LIMITS, seal, state });
  const parser =
    (await dialect.load?.(body, "ann", (release) => void released.push(release))) ??
    ((json: unknown) => dialect.read(json, "ann"));
  return parser({ model: "demo", ...body });
}

function messages({ submissions: [submission] }: GenerationRequest) {
  const { prompt } = submission!;
  return prompt.kind === "chat" ? prompt.messages.map(({ role, content }) => `${role}: ${content}`) : [];
}

test("the chain goes before the input, behind the new request's instructions", async () => {
  const state = new FakeState();
  const request = await read({ input: "Of France?", instructions: "Be brief.", previous_response_id: "resp_0" }, state);
  expect(state.asked).toEqual([["ann", { previousResponseId: "resp_0" }]]);
  expect(messages(request)).toEqual([
    "system: Be brief.",
    "user: Capital of Italy?",
    "assistant: Rome",
    "user: Of France?",
  ]);
});

test.each([["conv_1"], [{ id: "conv_1" }]])("a conversation as %j goes before the input", async (conversation) => {
  const state = new FakeState();
  const request = await read({ input: "Of France?", conversation, store: false }, state);
  expect(state.asked).toEqual([["ann", { conversationId: "conv_1" }]]);
  expect([...state.locked]).toEqual(["ann conv_1"]);
  released.pop()!();
  expect([...state.locked]).toEqual([]);
  await request.keep!({ identity: IDENTITY, choices: [CHOICE], end: END, caller: CALLER, requestId: "req" });
  expect(state.kept).toMatchObject([{ response: { store: false, conversation: { id: "conv_1" } } }]);
});

test.each([[{ previous_response_id: "resp_0" }], [{ conversation: "conv_1" }]])(
  "a body without input continues %j",
  async (continued) => {
    expect(messages(await read(continued))).toEqual(["user: Capital of Italy?", "assistant: Rome"]);
  },
);

test("references are stored items, also without a type, and keep their ids", async () => {
  const state = new FakeState();
  const input = [{ role: "user", content: "a" }, { type: "item_reference", id: "msg_9" }, { id: "msg_8" }];
  const request = await read({ input: [...input, { role: "user", content: "b" }] }, state);
  expect(state.asked).toEqual([["ann", ["msg_9", "msg_8"]]]);
  expect(messages(request)).toEqual(["user: a", "assistant: stored msg_9\nstored msg_8", "user: b"]);
  await request.keep!({ identity: IDENTITY, choices: [CHOICE], end: END, caller: CALLER, requestId: "req" });
  expect(state.kept[0]!.input.map(({ id }) => id)).toEqual(["msg_x_in0", "msg_9", "msg_8", "msg_x_in3"]);
});

test("the kept response is the answered one, sealed texts included", async () => {
  const state = new FakeState();
  const request = await read({ input: "hi", include: ["reasoning.encrypted_content"] }, state);
  await request.keep!({ identity: IDENTITY, choices: [CHOICE], end: END, caller: CALLER, requestId: "req" });
  const whole = request.whole(IDENTITY, [CHOICE], END);
  expect(state.kept).toEqual([{ owner: "ann", response: whole, input: [said("msg_x_in0", "user", "hi")] }]);
  expect(whole).toMatchObject({ id: "resp_x", created_at: 1, completed_at: 4, store: true });
});

test("a response that is not to be stored is not kept, and nothing is without a store", async () => {
  expect((await read({ input: "hi", store: false })).keep).toBeUndefined();
  const request = await read({ input: "hi" }, null);
  expect(request.keep).toBeUndefined();
  expect(request.whole(IDENTITY, [CHOICE], END)).toMatchObject({ store: false });
});

test.each<[string, object]>([
  ["previous_response_id", { previous_response_id: "resp_0" }],
  ["conversation", { conversation: "conv_0" }],
  ["input[0]", { input: [{ id: "msg_0" }] }],
])("%s is refused where nothing is stored", async (param, body) => {
  const refused = read({ input: "hi", ...body }, null);
  await expect(refused).rejects.toMatchObject({ status: 400, code: "unsupported_value", param });
});

test("sealed reasoning is preferred to its text, and opens for its owner alone", async () => {
  const seal = new Seal(Buffer.alloc(32, 7));
  const item = (owner: string) => ({
    type: "reasoning",
    encrypted_content: seal.seal("the real thoughts", owner),
    content: [{ type: "reasoning_text", text: "others" }],
  });
  for (const [owner, thoughts] of [
    ["ann", "the real thoughts"],
    ["bob", "others"],
  ]) {
    const input = [item(owner!), { role: "assistant", content: "a" }, { role: "user", content: "b" }];
    const [submission] = (await read({ input })).submissions;
    expect(submission!.prompt).toMatchObject({ messages: [{ reasoning_content: thoughts }, { role: "user" }] });
  }
});
