import type OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compactedResponse } from "../../openapi/responses/compact.ts";
import { checkResponseStream } from "../streams/response-stream.ts";
import { eventsOf } from "../streams/sse.ts";
import { failure } from "./failure.ts";
import { OVER_UPSTREAM, startServer, type TestServer } from "./server.ts";

let server: TestServer;
let client: OpenAI;
beforeAll(async () => {
  server = await startServer("--threads", "1", "--context", "512");
  client = server.client;
});
afterAll(() => server.stop());

type Body = OpenAI.Responses.ResponseCreateParamsNonStreaming;
const DEMO = { model: "demo", temperature: 0 };
const PARIS = "The capital of France is Paris.";

function respond(fields: object): Promise<OpenAI.Responses.Response> {
  return client.responses.create({ ...DEMO, ...fields } as Body);
}

function user(content: string) {
  return { role: "user", content };
}

describe("a compaction", () => {
  const conversation = [
    { role: "developer", content: "Be brief." },
    user("Capital of France?"),
    { role: "assistant", content: PARIS },
    user("Capital of Norway?"),
  ];
  /** The prompt of a request, which is not run. */
  const promptOf = async (fields: object): Promise<string> => {
    const dry = (await respond({ ...fields, nightshift: { dry_run: true } })) as unknown as {
      prompts: [{ text: string }];
    };
    return dry.prompts[0].text;
  };

  test.skipIf(OVER_UPSTREAM)("goes into the next request in place of what it summarizes", async () => {
    const compacted = await client.responses.compact({ ...DEMO, input: conversation as [] } as object as {
      model: "demo";
    });
    compactedResponse.strict().parse(compacted);
    const { output, usage } = compacted;
    expect(output.map((item) => ("role" in item ? item.role : item.type))).toEqual([
      "developer",
      "user",
      "user",
      "compaction",
    ]);
    expect(usage.output_tokens).toBeGreaterThan(0);
    const prompt = await promptOf({ input: [...output, user("Hello!")] });
    for (const text of ["Be brief.", "Capital of France?", "Summary of the conversation so far:\n", "Hello!"]) {
      expect(prompt).toContain(text);
    }
    expect(prompt).not.toContain(PARIS);
    expect((await respond({ input: [...output, user("Hello!")] })).status).toBe("completed");
    const missing = { status: 400, code: "missing_required_parameter", param: "input" };
    expect(await failure(client.responses.compact({ model: "demo" }))).toMatchObject(missing);
  });

  test.skipIf(OVER_UPSTREAM)(
    "is a response whose input ends with a trigger, whole and streamed, and is continued",
    async () => {
      const input = [...conversation, { type: "compaction_trigger" }];
      const whole = await respond({ input });
      const asked = { ...DEMO, input } as unknown as Body;
      const streamed = await client.responses.stream(asked as object).finalResponse();
      for (const { status, output } of [whole, streamed]) {
        expect([status, output]).toMatchObject([
          "completed",
          [{ type: "compaction", encrypted_content: expect.any(String) }],
        ]);
      }
      const raw = await server.post("/v1/responses", { ...asked, stream: true });
      checkResponseStream(eventsOf(await raw.text()));
      const prompt = await promptOf({ input: "Hello!", previous_response_id: whole.id });
      expect(prompt).toContain("Capital of Norway?");
      expect(prompt).toContain("Summary of the conversation so far:\n");
      expect(prompt).not.toContain(PARIS);
    },
  );
});

describe("context_management", () => {
  const long = Array.from({ length: 30 }, (_, turn) => `Turn ${turn}.`).join(" ");
  const conversation = [user("Hello!"), { role: "assistant", content: long }, user("Capital of France?")];
  const context_management = [{ type: "compaction", compact_threshold: 100 }];

  test.skipIf(OVER_UPSTREAM)(
    "compacts a prompt beyond its threshold before the answer, and later prompts go on from there",
    async () => {
      const { usage: whole } = await respond({ input: conversation, max_output_tokens: 1 });
      const managed = await respond({ input: conversation, context_management });
      expect(managed).toMatchObject({ status: "completed", output: [{ type: "compaction" }, { type: "message" }] });
      expect(managed.usage!.input_tokens).toBeGreaterThan(whole!.input_tokens);
      const dry = { input: "Hello!", previous_response_id: managed.id, nightshift: { dry_run: true } };
      const { prompts } = (await respond(dry)) as unknown as { prompts: [{ text: string }] };
      expect(prompts[0].text).toContain("Capital of France?");
      expect(prompts[0].text).toContain("Summary of the conversation so far:\n");
      expect(prompts[0].text).not.toContain("Turn 7.");
    },
  );

  test("streams the compaction as the first item", async () => {
    const asked = { ...DEMO, input: conversation, context_management };
    const raw = await server.post("/v1/responses", { ...asked, stream: true });
    const { output } = checkResponseStream(eventsOf(await raw.text()))!;
    expect(output.map(({ type }) => type)).toEqual(["compaction", "message"]);
    const streamed = await client.responses.stream(asked as object).finalResponse();
    expect(streamed.output.map(({ type }) => type)).toEqual(["compaction", "message"]);
  });

  test("compacts a prompt that is too long for the context, and none below its threshold", async () => {
    const input = [user("Hello!"), { role: "assistant", content: long.repeat(4) }, user("Capital of France?")];
    const error = await failure(respond({ input }));
    expect(error).toMatchObject({ status: 400, code: "context_length_exceeded" });
    const managed = await respond({ input, context_management: [{ type: "compaction" }] });
    expect(managed).toMatchObject({ status: "completed", output: [{ type: "compaction" }, { type: "message" }] });
    const short = await respond({ input: "Capital of France?", context_management });
    expect(short.output.map(({ type }) => type)).toEqual(["message"]);
  });
});
