import { EventEmitter } from "node:events";
import { MessageChannel } from "node:worker_threads";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import type { ChatMessage } from "../../../../../engine/protocol/prompt.ts";
import { type Chat, Renderer, type RenderThread } from "../../../../../engine/worker/text/renderer.ts";
import {
  packed,
  type RenderJob,
  type RenderReply,
  serveRendering,
  unpacked,
} from "../../../../../engine/worker/text/rendering.ts";
import { ChatTemplate, type RenderedPrompt } from "../../../../../engine/worker/text/template/chat-template.ts";
import { CHATML, QWEN } from "./template/templates.ts";

const NOW = new Date(0);
const CONTEXT = 1000;
const LONG = "x".repeat(16 * 1024);
const owner = (isWanted = () => true) => ({ tier: "default" as const, isWanted });
const chat = (...contents: string[]): Chat => ({
  messages: contents.map((content): ChatMessage => ({ role: "user", content })),
  variables: {},
  tools: [],
});

/** A renderer whose threads are ports of this thread, and what was sent to each of them. The first `dying` end at a job. */
function makeRenderer(template = new ChatTemplate(QWEN, CHATML), dying = 0) {
  const threads: { jobs: RenderJob[] }[] = [];
  const start = (source: Parameters<typeof serveRendering>[1]): RenderThread => {
    const { port1, port2 } = new MessageChannel();
    onTestFinished(() => port1.close());
    serveRendering(port2, structuredClone(source));
    const jobs: RenderJob[] = [];
    const events = new EventEmitter();
    const dies = threads.length < dying;
    port1.on("message", (reply) => events.emit("message", reply));
    threads.push({ jobs });
    return {
      on: (event: string, listener: (reply: RenderReply) => void) => events.on(event, listener),
      postMessage: (job) => {
        jobs.push(job);
        if (dies) events.emit("error");
        else port1.postMessage(job);
      },
    };
  };
  return { renderer: new Renderer({ template, context: CONTEXT, start }), template, threads };
}

test("long chats are rendered on a thread that the first one starts, short ones at once", async () => {
  const { renderer, template, threads } = makeRenderer();
  const short = chat("Hi");
  expect(await renderer.render(short, NOW, owner())).toEqual(template.render(short.messages, {}, NOW));
  expect(threads).toEqual([]);
  for (const long of [chat(`a<|im_end|>${LONG}<|im_start|>b`), chat(...Array<string>(1000).fill("Hi"))]) {
    expect(await renderer.render(long, NOW, owner())).toEqual(template.render(long.messages, {}, NOW));
  }
  expect(threads.map(({ jobs }) => jobs.length)).toEqual([2]);
});

test("a refusal of the template is the same on the thread", async () => {
  const template = new ChatTemplate(
    "{% if messages|length > 1 %}{{ raise_exception('no: ' + messages[1].content[:2]) }}{% endif %}",
    CHATML,
  );
  const { renderer, threads } = makeRenderer(template);
  const error = { code: "invalid_value", param: "messages" };
  for (const text of ["Hi", LONG]) {
    await expect(renderer.render(chat(text, "Hi"), NOW, owner())).rejects.toMatchObject({ error });
  }
  expect(threads).toHaveLength(1);
});

test("the end of the thread fails its chats, and the next chat starts another thread", async () => {
  const { renderer, threads } = makeRenderer(undefined, 1);
  const first = renderer.render(chat(LONG), NOW, owner());
  await expect(first).rejects.toMatchObject({ error: { code: "template_error" } });
  expect(await renderer.render(chat(LONG), NOW, owner())).not.toBeNull();
  expect(threads).toHaveLength(2);
});

test("a chat that is cancelled while it waits is not sent", async () => {
  const { renderer, threads } = makeRenderer();
  const others = [renderer.render(chat(LONG), NOW, owner()), renderer.render(chat(LONG), NOW, owner())];
  let wanted = true;
  const cancelled = renderer.render(
    chat(LONG),
    NOW,
    owner(() => wanted),
  );
  wanted = false;
  expect(await cancelled).toBeNull();
  await Promise.all(others);
  expect(threads[0]!.jobs).toHaveLength(2);
});

test("a prompt of more pieces than the context has tokens is refused before unpacking", async () => {
  const { renderer } = makeRenderer();
  const answer = renderer.render(chat("<|im_end|>a".repeat(40_000)), NOW, owner());
  await expect(answer).rejects.toMatchObject({ error: { code: "context_length_exceeded", param: "messages" } });
});

test("pieces are the same packed and unpacked", () => {
  const texts = fc.array(fc.string({ minLength: 1 }));
  fc.assert(
    fc.property(texts, fc.boolean(), (list, firstLiteral) => {
      const pieces = list.map((text, index) => ({ text, literal: firstLiteral === (index % 2 === 0) }));
      const prompt: RenderedPrompt = { pieces, startsWithBos: false, startsInReasoning: true };
      expect(unpacked(packed(prompt))).toEqual(prompt);
    }),
  );
});
