import type { FinishReason } from "../engine/protocol.ts";
import type { Usage } from "../openapi/usage.ts";
import type { CallIdentity, ChunkFormat } from "./chunk-format.ts";

/** text_completion, as a stream sends it. */
export class CompletionChunks implements ChunkFormat {
  readonly #head: string;
  readonly #tail: string;

  constructor({ id, created, model, tier, fingerprint }: CallIdentity, includeUsage: boolean) {
    const common = {
      id,
      object: "text_completion",
      created,
      model,
      service_tier: tier,
      system_fingerprint: fingerprint,
    };
    this.#head = `data: ${JSON.stringify(common).slice(0, -1)},"choices":[`;
    this.#tail = includeUsage ? `],"usage":null}\n\n` : "]}\n\n";
  }

  first(choice: number, prompt: string): string {
    return prompt === "" ? "" : this.#chunk(choice, JSON.stringify(prompt), "", "null");
  }

  delta(choice: number, text: string, reasoning: string): string {
    const thought = reasoning === "" ? "" : `,"reasoning_content":${JSON.stringify(reasoning)}`;
    return this.#chunk(choice, JSON.stringify(text), thought, "null");
  }

  last(choice: number, reason: FinishReason): string {
    return this.#chunk(choice, `""`, "", `"${reason}"`);
  }

  usage(usage: Usage): string {
    return `${this.#head}],"usage":${JSON.stringify(usage)}}\n\n`;
  }

  #chunk(choice: number, text: string, thought: string, reason: string): string {
    return `${this.#head}{"text":${text},"index":${choice},"logprobs":null,"finish_reason":${reason}${thought}}${this.#tail}`;
  }
}
