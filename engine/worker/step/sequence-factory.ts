import { randomInt } from "node:crypto";
import type { CacheScope } from "../../protocol/config.ts";
import type { Prompt } from "../../protocol/prompt.ts";
import type { EngineRequest } from "../../protocol/request.ts";
import { GrammarConstraint } from "../grammar/grammar-constraint.ts";
import type { VocabularyGrammars } from "../grammar/vocabulary-grammar.ts";
import type { Library } from "../native/library/library.ts";
import { Sampler } from "../native/sampling/sampler.ts";
import type { Vocabulary } from "../native/vocabulary.ts";
import { ReasoningBudget } from "../text/output/reasoning-budget.ts";
import { SequenceText } from "../text/output/sequence-text.ts";
import type { BuiltPrompt } from "../text/prompt-builder.ts";
import type { ChatTemplate } from "../text/template/chat-template.ts";
import type { TextOwner } from "../text/tokenize-queue.ts";
import { LogitRules } from "./logit-rules.ts";
import { SequenceLogprobs } from "./logprobs.ts";
import { EngineSequence } from "./sequence.ts";
import { BreakerLists } from "./sequence-breakers.ts";
import type { ToolCallReader } from "./tool-call-reader.ts";

const MOST_SEED = 2 ** 32;
/** The scope of prefixes that all owners share. */
const SHARED_SCOPE = "";

export interface SequenceFactoryParts {
  library: Library;
  vocabulary: Vocabulary;
  template: ChatTemplate;
  /** Grammars of answers that are not read for tool calls. */
  grammars: VocabularyGrammars;
  calls: ToolCallReader;
  /** The longest sequence in tokens. */
  context: number;
  cacheScope: CacheScope;
  /** Most reasoning tokens of a chat where the request sets none; null is unbounded. */
  reasoningBudget: number | null;
  /** Wakes the work loop. */
  wake: () => void;
}

/** Makes the sequences of requests, each with its sampler, its rules and its text state. */
export class SequenceFactory {
  readonly #parts: SequenceFactoryParts;
  readonly #breakers: BreakerLists;
  /** Tokens of the tag that ends reasoning; none where the model has no such tag. */
  readonly #closeTag: readonly number[];

  constructor(parts: SequenceFactoryParts) {
    this.#parts = parts;
    this.#breakers = new BreakerLists(parts.vocabulary);
    const tags = parts.template.reasoningTags;
    this.#closeTag = tags === null ? [] : [...parts.vocabulary.tokenizeNow(Buffer.from(tags.close), { special: true })];
  }

  /**
   * Checks the grammar and has it compiled. A waiting request does not hold its grammar, so that the bound on kept grammars
   * applies; a sequence takes its own when it starts.
   *
   * @throws GbnfError
   */
  async prepareGrammar({ grammar, prompt }: EngineRequest, owner: TextOwner): Promise<void> {
    if (grammar !== null) await this.#grammarsOf(prompt).prepare(grammar, owner);
  }

  /** @param arrival the request's order of arrival; its sequences follow each other */
  make(request: EngineRequest, prompt: BuiltPrompt, arrival: number): EngineSequence[] {
    const { library, vocabulary, template, calls, context, wake } = this.#parts;
    const { sampling, grammar: rule, logprobs: wanted } = request;
    const { tokens, opening, startsInReasoning } = prompt;
    const reasoning = {
      reasoningTags: request.prompt.kind === "chat" ? template.reasoningTags : null,
      startsInReasoning,
      callMarks: calls.callMarks(request.prompt),
    };
    const read = calls.reads(request.prompt) ? { prompt: request.prompt } : null;
    const grammars = this.#grammarsOf(request.prompt);
    const seed = sampling.seed ?? randomInt(MOST_SEED);
    const room = context - tokens.length;
    return Array.from({ length: request.n }, (_, index) => {
      const breakers = (texts: readonly string[]) => this.#breakers.of(texts);
      const rules = { ...request, endTokens: vocabulary.endTokens, breakers };
      return new EngineSequence({
        request,
        index,
        arrival: arrival + index / request.n,
        scope: this.#scopeOf(request),
        promptTokens: tokens,
        limit: Math.min(room, request.maxTokens ?? room),
        sampler: new Sampler(library.llama, sampling, {
          seed: (seed + index) % MOST_SEED,
          vocabulary: vocabulary.size,
        }),
        rules: LogitRules.for(rules, tokens),
        constraint: rule === null ? null : new GrammarConstraint({ rule, grammars, ...reasoning, wake }),
        logprobs: wanted === null ? null : new SequenceLogprobs({ wanted, prompt: tokens, opening, vocabulary }),
        text: new SequenceText({
          stop: request.stop,
          ...reasoning,
          ...(read !== null && { calls: calls.calls(read.prompt) }),
        }),
        thoughts: this.#thoughtBudget(request, prompt),
        ...(read !== null && { marks: calls.marks }),
      });
    });
  }

  #grammarsOf(prompt: Prompt): VocabularyGrammars {
    const { calls, grammars } = this.#parts;
    return calls.reads(prompt) ? calls.grammars : grammars;
  }

  /** A prompt whose tokens are all scored must be computed from its beginning: it has a scope of its own. */
  #scopeOf({ id, owner, logprobs }: EngineRequest): string {
    if (logprobs?.prompt) return `${id}\n`;
    return this.#parts.cacheScope === "owner" ? owner : SHARED_SCOPE;
  }

  #thoughtBudget(request: EngineRequest, prompt: BuiltPrompt): ReasoningBudget | null {
    const tokens = prompt.thoughtBudget ?? this.#parts.reasoningBudget;
    if (request.prompt.kind !== "chat" || this.#closeTag.length === 0 || tokens === null) return null;
    return Number.isFinite(tokens) ? new ReasoningBudget(tokens, this.#closeTag) : null;
  }
}
