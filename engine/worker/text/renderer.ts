import { Worker } from "node:worker_threads";
import { isLongerThan } from "../../../grammar/schema/json-length.ts";
import { programUrl } from "../../../platform/installation.ts";
import { RequestRefusal, tooLong } from "../../protocol/request-refusal.ts";
import { type RenderJob, type RenderReply, unpacked } from "./rendering.ts";
import {
  type ChatTemplate,
  type RenderedPrompt,
  TemplateError,
  type TemplateSource,
} from "./template/chat-template.ts";
import { type TextOwner, TokenizeQueue } from "./tokenize-queue.ts";

/** JSON characters of messages, tools and variables above which a chat is rendered on the thread: that can take a second. */
const LONG_CHARACTERS = 8 * 1024;
/** Pieces of a prompt that any context allows; each is a token at least. */
const LEAST_PIECES = 65_536;
/** The thread's heap in MiB. A body's bounds do not count the values in tool calls' arguments, which are JSON in JSON. */
const MOST_HEAP_MB = 1024;

/** A thread that serves rendering.ts's jobs. */
export interface RenderThread {
  postMessage(job: RenderJob): void;
  on(event: "message", listener: (reply: RenderReply) => void): unknown;
  /** The thread has ended or is about to. */
  on(event: "error" | "exit", listener: () => void): unknown;
}

export interface RendererParts {
  template: ChatTemplate;
  /** The longest request in tokens. */
  context: number;
  start?: (source: TemplateSource) => RenderThread;
}

/** The input of a chat's prompt. */
export type Chat = Omit<RenderJob, "id" | "now">;

interface Pending {
  resolve(prompt: RenderedPrompt): void;
  reject(error: unknown): void;
}

/** Renders chats: short ones at once, long ones on a thread, which the first long one starts. */
export class Renderer {
  readonly #parts: Required<RendererParts>;
  readonly #queue = new TokenizeQueue();
  #thread: RenderThread | null = null;
  #pending = new Map<number, Pending>();
  #lastId = 0;

  constructor(parts: RendererParts) {
    this.#parts = { start: startThread, ...parts };
  }

  /**
   * Null when the request is cancelled meanwhile.
   *
   * @throws RequestRefusal for a chat that the template refuses, or that has no room in the context
   */
  async render(chat: Chat, now: Date, owner: TextOwner): Promise<RenderedPrompt | null> {
    const { messages, variables, tools } = chat;
    if (!isLongerThan([messages, variables, tools], LONG_CHARACTERS)) {
      return this.#parts.template.render(messages, variables, now, tools);
    }
    return this.#queue.run(owner, () => this.#post({ ...chat, id: ++this.#lastId, now: now.getTime() }));
  }

  #post(job: RenderJob): Promise<RenderedPrompt> {
    this.#thread ??= this.#started();
    const thread = this.#thread;
    return new Promise((resolve, reject) => {
      this.#pending.set(job.id, { resolve, reject });
      thread.postMessage(job);
    });
  }

  #started(): RenderThread {
    const thread = this.#parts.start(this.#parts.template.parts);
    thread.on("message", (reply) => this.#answer(reply));
    const over = () => {
      if (this.#thread !== thread) return;
      this.#thread = null;
      const pending = [...this.#pending.values()];
      this.#pending.clear();
      const reason = "The model's chat template takes more memory for these messages than there is.";
      for (const { reject } of pending) reject(new TemplateError("template_error", "messages", reason));
    };
    thread.on("error", over);
    thread.on("exit", over);
    return thread;
  }

  #answer(reply: RenderReply): void {
    const pending = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    try {
      pending?.resolve(this.#promptOf(reply));
    } catch (error) {
      pending?.reject(error);
    }
  }

  #promptOf(reply: RenderReply): RenderedPrompt {
    if ("refused" in reply) throw new RequestRefusal(reply.refused);
    if ("fault" in reply) throw reply.fault;
    const { context } = this.#parts;
    const { length } = reply.packed.ends;
    if (length <= Math.max(LEAST_PIECES, context)) return unpacked(reply.packed);
    throw new RequestRefusal(tooLong("chat", context, length, `${length} or more`));
  }
}

function startThread(source: TemplateSource): RenderThread {
  const thread = new Worker(programUrl("engine/worker/text/render-thread"), {
    workerData: source,
    name: "render",
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MOST_HEAP_MB },
  });
  thread.unref();
  return thread;
}
