import type { ApiError } from "../../openapi/api-error.ts";
import type { RequestListener, Submission, Ticket } from "../engine.ts";
import type { SequenceOutput } from "../protocol/output.ts";
import { CHARS_PER_TOKEN } from "../protocol/prompt.ts";
import type { Classified } from "./answer/answer-class.ts";
import { AnswerReader } from "./answer/answer-reader.ts";
import { AttemptFailure, attemptEvents } from "./attempt.ts";
import { attempts } from "./attempts.ts";
import { upstreamRequest } from "./dialect/request-body.ts";
import { prefixBlocks } from "./replica/prefix-blocks.ts";
import { isOnline, type Visit } from "./replica/replica.ts";
import type { UpstreamAccess } from "./upstream-access.ts";

/** The engine that work belongs to. */
export interface WorkHome {
  readonly access: UpstreamAccess;
  /** The model's id at the upstream. */
  readonly upstreamModel: string;
  /** Tokens of its longest request. */
  readonly context: number;
  /** An attempt at the submission failed. */
  failed(submission: Submission, failed: Classified): void;
  /** The work is over. */
  ended(work: Ticket): void;
}

/** One submission at an upstream: attempts until one has content, and that one to its end. */
export class Generation implements Ticket {
  readonly #home: WorkHome;
  readonly #submission: Submission;
  readonly #listener: RequestListener;
  readonly #abort = new AbortController();
  /** Estimated tokens of its prompt: the upstream counts them at the end. */
  readonly #promptTokens: number;
  #content = false;
  #over = false;

  constructor(home: WorkHome, submission: Submission, listener: RequestListener) {
    this.#home = home;
    this.#submission = submission;
    this.#listener = listener;
    const { prompt } = submission;
    this.#promptTokens =
      prompt.kind === "tokens" ? prompt.tokens.length : Math.ceil(textOf(prompt).length / CHARS_PER_TOKEN);
  }

  /** Runs it to its end, which its listener gets. Never rejects. */
  async run(): Promise<void> {
    const { prompt, echo, tier, maxTokens, n } = this.#submission;
    // A listener gets nothing within the call that submits.
    await Promise.resolve();
    if (this.#over) return;
    this.#listener.accepted(this.#promptTokens, echo && prompt.kind === "text" ? prompt.text : null);
    const error = await attempts({
      access: this.#home.access,
      tier,
      tokens: this.#promptTokens + n * (maxTokens ?? 0),
      blocks: prefixBlocks(this.#home.upstreamModel, prompt.kind === "tokens" ? prompt.tokens.join() : textOf(prompt)),
      signal: this.#abort.signal,
      content: () => this.#content,
      failed: (failed) => this.#home.failed(this.#submission, failed),
      attempt: (visit) => this.#attempt(visit),
    });
    if (error !== null)
      this.#fail(isLong(error) ? error.withParam(prompt.kind === "chat" ? "messages" : "prompt") : error);
  }

  cancel(): void {
    if (this.#over) return;
    this.#end();
    this.#abort.abort();
  }

  async #attempt({ replica }: Visit): Promise<void> {
    const { access, upstreamModel } = this.#home;
    const { n, prompt, tier, maxTokens } = this.#submission;
    const marks = access.marks(tier);
    const { path, body } = upstreamRequest(this.#submission, upstreamModel, access.dialect);
    const { firstEvent, onlineSilence, batchSilence } = access.config.timeouts;
    const sentAt = access.clock.now();
    const { alone } = replica;
    const reader = new AnswerReader({
      kind: prompt.kind === "chat" ? "chat" : "text",
      choices: n,
      promptEstimate: this.#promptTokens,
      mostTokens: maxTokens ?? this.#home.context,
      callId: () => access.callId(),
    });
    const events = attemptEvents({
      dispatcher: access.dispatcher,
      url: `${replica.url}${path}`,
      headers: { ...access.headers, ...marks.headers },
      body: JSON.stringify({ ...body, ...marks.body }),
      signal: this.#abort.signal,
      timeouts: { firstEvent, silence: tier === "batch" ? batchSilence : onlineSilence },
    });
    for await (const list of events) {
      for (const event of list) {
        if (event.done) {
          this.#finish(reader);
          break;
        }
        const outputs = readable(() => reader.read(event.data));
        if (outputs.length > 0 && !this.#content && isOnline(tier)) replica.begun(access.clock.now() - sentAt, alone);
        for (const output of outputs) this.#pass(output);
      }
    }
    // Some engines leave out the mark of the end.
    if (!this.#over) this.#finish(reader);
  }

  #finish(reader: AnswerReader): void {
    const { outputs, counted } = readable(() => reader.end());
    if (counted.estimated) this.#home.access.estimated();
    for (const output of outputs) this.#pass(output);
    if (!this.#over) this.#end();
  }

  /** From the first content on no other attempt is made. */
  #pass(output: SequenceOutput): void {
    // The listener of an earlier output may have cancelled it.
    if (this.#over) return;
    if (!this.#content) {
      this.#content = true;
      for (let index = 0; index < this.#submission.n; index++) this.#listener.started(index, 0, 0);
    }
    this.#listener.output(output);
  }

  #fail(error: ApiError): void {
    if (this.#over) return;
    this.#end();
    this.#listener.failed(error);
  }

  #end(): void {
    this.#over = true;
    this.#home.ended(this);
  }
}

function isLong({ key }: ApiError): boolean {
  return key === "context_length_exceeded";
}

function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new AttemptFailure({ kind: "broken" }, error);
  }
}

/** The text of a prompt; of a chat, that of its tools and messages. */
function textOf(prompt: Exclude<Submission["prompt"], { kind: "tokens" }>): string {
  if (prompt.kind === "text") return prompt.text;
  if (prompt.kind === "infill") return prompt.prefix + prompt.middle + prompt.suffix;
  const messages = prompt.messages.map(({ role, content, tool_calls: calls = [] }) => {
    return [role, content ?? "", ...calls.map((call) => call.function.arguments)].join("\n");
  });
  return [...(prompt.tools.length > 0 ? [JSON.stringify(prompt.tools)] : []), ...messages].join("\n");
}
