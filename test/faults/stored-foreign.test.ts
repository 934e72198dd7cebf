import { expect, test } from "vitest";
import { saying } from "../unit/server/fake-engine.ts";
import { type KeyedServer, startKeyedServer } from "./keys-rig.ts";

const ASK = { model: "demo", input: "hi" };
const CHAT = { model: "demo", messages: [{ role: "user", content: "hi" }], store: true };

type Call = (method: string, path: string, body?: object) => Promise<Answer>;
interface Answer {
  status: number;
  body: { id: string; output: { id: string }[]; data: { id: string }[]; error?: { code: string | null; type: string } };
}

/** Calls of a key of this owner. */
async function callsOf(server: KeyedServer, owner: string): Promise<Call> {
  const { key } = await server.key({ owner });
  return async (method, path, body) => {
    const response = await server.call(key, method, path, body);
    return { status: response.status, body: JSON.parse(await response.text()) };
  };
}

async function serve() {
  const server = await startKeyedServer();
  server.engine.script = saying("ok");
  const call = await callsOf(server, "a");
  return { server, call };
}

/** One stored answer of each kind. */
async function store(call: Call) {
  const response = (await call("POST", "/v1/responses", ASK)).body;
  const conversation = (await call("POST", "/v1/conversations", { items: [{ role: "user", content: "hi" }] })).body;
  const { data } = (await call("GET", `/v1/conversations/${conversation.id}/items`)).body;
  const completion = (await call("POST", "/v1/chat/completions", CHAT)).body;
  const item = response.output[0]!.id;
  return { response: response.id, conversation: conversation.id, completion: completion.id, item, inside: data[0]!.id };
}

/** Requests that name stored answers, each with its status where there is none. */
function naming(ids: Record<"response" | "conversation" | "completion" | "item" | "inside", string>) {
  const items = [{ role: "user", content: "x" }];
  const reference = (id: string) => ({ ...ASK, input: [{ type: "item_reference", id }] });
  const response = `/v1/responses/${ids.response}`;
  const conversation = `/v1/conversations/${ids.conversation}`;
  const completion = `/v1/chat/completions/${ids.completion}`;
  return [
    ["GET", response, undefined, 404],
    ["GET", `${response}/input_items`, undefined, 404],
    ["POST", `${response}/cancel`, {}, 404],
    ["DELETE", response, undefined, 404],
    ["GET", conversation, undefined, 404],
    ["POST", conversation, { metadata: {} }, 404],
    ["GET", `${conversation}/items`, undefined, 404],
    ["POST", `${conversation}/items`, { items }, 404],
    ["GET", `${conversation}/items/${ids.inside}`, undefined, 404],
    ["DELETE", `${conversation}/items/${ids.inside}`, undefined, 404],
    ["DELETE", conversation, undefined, 404],
    ["GET", completion, undefined, 404],
    ["GET", `${completion}/messages`, undefined, 404],
    ["POST", completion, { metadata: {} }, 404],
    ["DELETE", completion, undefined, 404],
    ["POST", "/v1/responses", { ...ASK, conversation: ids.conversation }, 404],
    ["POST", "/v1/responses", reference(ids.item), 404],
    ["POST", "/v1/responses", reference(ids.inside), 404],
    ["POST", "/v1/responses", { ...ASK, previous_response_id: ids.response }, 400],
    ["POST", "/v1/responses", { ...ASK, previous_response_id: ids.response, background: true }, 400],
    ["POST", "/v1/responses/input_tokens", { ...ASK, previous_response_id: ids.response }, 400],
    ["POST", "/v1/responses/input_tokens", { ...ASK, conversation: ids.conversation }, 404],
    ["GET", `/v1/chat/completions?after=${ids.completion}`, undefined, 400],
  ] as const;
}

test("stored answers of one owner do not exist for another, whatever names them", async () => {
  const { server, call } = await serve();
  const ids = await store(call);
  const stranger = await callsOf(server, "b");
  const before = server.engine.requests.length;
  for (const [method, path, body, status] of naming(ids)) {
    const { status: got, body: answer } = await stranger(method, path, body);
    expect([method, path, body, got]).toEqual([method, path, body, status]);
    expect(answer.error).toMatchObject({ type: "invalid_request_error" });
  }
  expect((await stranger("GET", "/v1/chat/completions")).body.data).toEqual([]);
  expect(server.engine.requests).toHaveLength(before);
  // Nothing of it changed anything.
  expect((await call("GET", `/v1/conversations/${ids.conversation}/items`)).body.data).toHaveLength(1);
  for (const [method, path, body] of naming(ids).filter(([asked]) => asked !== "DELETE")) {
    const { status } = await call(method, path, body);
    expect([path, status]).toEqual([path, path.endsWith("/cancel") ? 400 : 200]);
  }
});

test("an id of another kind names nothing", async () => {
  const { call } = await serve();
  const { response, conversation, completion, item, inside } = await store(call);
  const others = {
    response: item,
    conversation: response,
    completion: conversation,
    item: completion,
    inside: response,
  };
  for (const [method, path, body, status] of naming(others)) {
    expect([method, path, body, (await call(method, path, body)).status]).toEqual([method, path, body, status]);
  }
  expect((await call("GET", `/v1/conversations/${conversation}/items/${inside}`)).status).toBe(200);
});

test("a history of 4,096 items is served and continued no further; 4,097 are refused", async () => {
  const { call } = await serve();
  const said = (count: number) => Array.from({ length: count }, (_, n) => ({ role: "user", content: `n${n}` }));
  for (const count of [1000, 4096]) {
    const { status, body } = await call("POST", "/v1/responses", { ...ASK, input: said(count) });
    const next = await call("POST", "/v1/responses", { ...ASK, previous_response_id: body.id });
    expect([status, next.status]).toEqual([200, count === 1000 ? 200 : 400]);
    const page = await call("GET", `/v1/responses/${body.id}/input_items?limit=100`);
    expect(page.body.data).toHaveLength(100);
  }
  const refused = await call("POST", "/v1/responses", { ...ASK, input: said(4097) });
  expect(refused).toMatchObject({ status: 400, body: { error: { code: "invalid_value" } } });
});

test("a history near the largest body is stored, read and continued; a longer one is an error", async () => {
  const { call } = await serve();
  const input = Array.from({ length: 1000 }, () => ({ role: "user", content: "word ".repeat(1900) }));
  const { status, body } = await call("POST", "/v1/responses", { ...ASK, input });
  expect(status).toBe(200);
  const next = await call("POST", "/v1/responses", { ...ASK, previous_response_id: body.id });
  expect(next.status).toBe(200);
  const more = await call("POST", "/v1/responses", { model: "demo", input, previous_response_id: next.body.id });
  const over = await call("POST", "/v1/responses", { ...ASK, previous_response_id: more.body.id });
  expect(over).toMatchObject({ status: 400, body: { error: { code: "context_length_exceeded" } } });
});

test("4,000 forged sealed texts are passed over", async () => {
  const { call } = await serve();
  const sealed = (byte: number) => Buffer.concat([Buffer.of(1), Buffer.alloc(200, byte)]).toString("base64");
  const forged = Array.from({ length: 4000 }, (_, n) => ({
    type: "reasoning",
    summary: [],
    encrypted_content: sealed(n),
  }));
  const input = [...forged, { role: "user", content: "hi" }];
  expect((await call("POST", "/v1/responses", { ...ASK, input })).status).toBe(200);
});

test("deletions while other responses read the chain leave each served or refused, and what was kept whole", async () => {
  const { server, call } = await serve();
  const chain: string[] = [];
  for (let turn = 0; turn < 12; turn++) {
    const previous_response_id = chain.at(-1) ?? null;
    const input = Array.from({ length: 20 }, (_, n) => ({ role: "user", content: `${turn}.${n} ${"x".repeat(9000)}` }));
    chain.push((await call("POST", "/v1/responses", { model: "demo", input, previous_response_id })).body.id);
  }
  const last = chain.at(-1)!;
  const continuing = Array.from({ length: 8 }, () =>
    call("POST", "/v1/responses", { ...ASK, previous_response_id: last }),
  );
  const reading = chain.map((id) => call("GET", `/v1/responses/${id}/input_items?limit=100`));
  const deleting = chain.toReversed().map((id) => call("DELETE", `/v1/responses/${id}`));
  for (const { status } of await Promise.all(deleting)) expect(status).toBe(200);
  for (const { status } of await Promise.all(reading)) expect([200, 404]).toContain(status);
  const answers = await Promise.all(continuing);
  for (const { status, body } of answers) {
    if (status === 200) {
      const { data } = (await call("GET", `/v1/responses/${body.id}/input_items?order=asc&limit=1`)).body;
      expect(JSON.stringify(data)).toContain("0.0 x");
    } else expect([status, body.error?.code]).toEqual([400, "previous_response_not_found"]);
  }
  // Each that ran had the whole chain: 12 turns of 20 items with their answers, and its own input.
  const sizes = server.engine.requests.slice(chain.length).map(({ submission: { prompt } }) => {
    return prompt.kind === "chat" ? prompt.messages.length : 0;
  });
  for (const size of sizes) expect(size).toBe(12 * 21 + 1);
});
