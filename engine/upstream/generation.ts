import type { ApiError } from "../../openapi/api-error.ts";
import type { RequestListener, Submission } from "../engine.ts";
import type { SequenceOutput } from "../protocol/output.ts";
import { CHARS_PER_TOKEN } from "../protocol/prompt.ts";
import type { Tier } from "../protocol/request.ts";
import type { Classified } from "./answer/answer-class.ts";
import { AnswerReader } from "./answer/answer-reader.ts";
import { AttemptFailure } from "./attempt.ts";
import { upstreamRequest } from "./dialect/request-body.ts";
import type { HedgeTerms } from "./hedged-outcome.ts";
import { prefixBlocks } from "./replica/prefix-blocks.ts";
import { isOnline, type Visit } from "./replica/replica.ts";
import type { UpstreamAccess } from "./upstream-access.ts";
import type { UpstreamWork, WorkRequest } from "./upstream-work.ts";

export interface GenerationParts {
  access: UpstreamAccess;
  /** The model's id at the upstream. */
  upstreamModel: string;
  /** Tokens of its longest request. */
  context: number;
  submission: Submission;
  listener: RequestListener;
  /** True once the model was seen to take the bound on its answer only as `max_completion_tokens`. */
  completionTokens: () => boolean;
  attemptFailed: (failed: Classified) => void;
}

/** One submission at an upstream: attempts until one has content, and that one to its end. */
export class Generation implements WorkRequest {
  readonly tier: Tier;
  readonly promptTokens: number;
  readonly answerTokens: number;
  readonly sequences: number;
  readonly blocks: readonly number[];
  readonly echo: string | null;
  readonly hedge: HedgeTerms | null;
  readonly #parts: GenerationParts;
  #begun = false;
  /** Output tokens that were passed on. */
  #passed = 0;

  constructor(parts: GenerationParts) {
    this.#parts = parts;
    const { prompt, echo, tier, n, maxTokens } = parts.submission;
    const text = prompt.kind === "tokens" ? prompt.tokens.join() : textOf(prompt);
    this.tier = tier;
    this.promptTokens = prompt.kind === "tokens" ? prompt.tokens.length : Math.ceil(text.length / CHARS_PER_TOKEN);
    this.answerTokens = n * (maxTokens ?? 0);
    this.sequences = n;
    const salt = parts.access.salt(parts.submission.owner);
    this.blocks = prefixBlocks(salt === null ? parts.upstreamModel : `${parts.upstreamModel}\n${salt}`, text);
    this.echo = echo && prompt.kind === "text" ? prompt.text : null;
    const mayHedge = tier === "priority" && !(prompt.kind === "chat" && prompt.tools.length > 0);
    this.hedge = isOnline(tier) ? { promptTokens: this.promptTokens, mayHedge } : null;
  }

  get begun(): boolean {
    return this.#begun;
  }

  async attempt(work: UpstreamWork, visit: Visit): Promise<number> {
    const { replica } = visit;
    const { access, upstreamModel, context, submission, completionTokens } = this.#parts;
    const { n, prompt, maxTokens } = submission;
    const { path, body } = upstreamRequest(submission, upstreamModel, access.dialect, {
      completionTokens: completionTokens(),
      salt: access.salt(submission.owner),
    });
    const sentAt = access.clock.now();
    const { alone } = replica;
    const reader = new AnswerReader({
      kind: prompt.kind === "chat" ? "chat" : "text",
      choices: n,
      usageByChoice: access.dialect.usageByChoice ?? false,
      promptEstimate: this.promptTokens,
      mostTokens: maxTokens ?? context,
      callId: () => access.callId(),
    });
    let tokens = 0;
    for await (const list of work.events(visit, path, body)) {
      for (const event of list) {
        if (event.done) {
          tokens = this.#finish(work, visit, reader);
          break;
        }
        const outputs = readable(() => reader.read(event.data));
        if (outputs.length === 0) continue;
        visit.claim();
        if (!this.#begun && isOnline(this.tier)) replica.begun(access.clock.now() - sentAt, alone);
        for (const output of outputs) this.#pass(work, output);
      }
    }
    // Some engines leave out the mark of the end.
    return work.over ? tokens : this.#finish(work, visit, reader);
  }

  mayPreempt(): boolean {
    const { access, listener } = this.#parts;
    if (!this.#begun) return true;
    if (!listener.mayRestart("preempted")) return false;
    this.#begun = false;
    access.dropped(this.#passed);
    this.#passed = 0;
    listener.accepted(this.promptTokens, this.echo, true);
    return true;
  }

  attemptFailed(failed: Classified): void {
    this.#parts.attemptFailed(failed);
  }

  named(error: ApiError): ApiError {
    if (error.key !== "context_length_exceeded") return error;
    return error.withParam(this.#parts.submission.prompt.kind === "chat" ? "messages" : "prompt");
  }

  /** Tokens of prompt and answer. */
  #finish(work: UpstreamWork, visit: Visit, reader: AnswerReader): number {
    const { outputs, counted } = readable(() => reader.end());
    visit.claim();
    if (counted.estimated) this.#parts.access.estimated();
    for (const output of outputs) this.#pass(work, output);
    if (!work.over) work.end();
    return counted.completionTokens.reduce((sum, tokens) => sum + tokens, counted.promptTokens);
  }

  /** From the first content on no other attempt is made. */
  #pass(work: UpstreamWork, output: SequenceOutput): void {
    // The listener of an earlier output may have cancelled it.
    if (work.over) return;
    const { listener, submission } = this.#parts;
    if (!this.#begun) {
      this.#begun = true;
      for (let index = 0; index < submission.n; index++) listener.started(index, 0, 0);
    }
    this.#passed += output.tokens;
    listener.output(output);
  }
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
