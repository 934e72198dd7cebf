import type { EngineError } from "../../protocol/messages.ts";
import type { ChatMessage, FunctionTool } from "../../protocol/prompt.ts";
import { RequestRefusal } from "../../protocol/request-refusal.ts";
import { ChatTemplate, type RenderedPrompt, type TemplateSource } from "./template/chat-template.ts";
import type { PromptPiece } from "./template/special-token-escaping.ts";

/** A chat for the thread to render. */
export interface RenderJob {
  id: number;
  messages: ChatMessage[];
  variables: Record<string, unknown>;
  tools: readonly FunctionTool[];
  /** Milliseconds since 1970. */
  now: number;
}

/** A rendered prompt as few values, since a client can make a piece of every few characters. Literal pieces alternate with others. */
export interface PackedPrompt extends Omit<RenderedPrompt, "pieces"> {
  text: string;
  /** The end of each piece in the text. */
  ends: Uint32Array;
  firstLiteral: boolean;
}

export type RenderReply = { id: number } & ({ packed: PackedPrompt } | { refused: EngineError } | { fault: unknown });

/** The thread's side of a port. */
export interface RenderPort {
  on(event: "message", listener: (job: RenderJob) => void): unknown;
  postMessage(reply: RenderReply): void;
}

/** Renders the jobs that come over the port, one after the other. */
export function serveRendering(port: RenderPort, source: TemplateSource): void {
  const template = ChatTemplate.of(source);
  port.on("message", ({ id, messages, variables, tools, now }) => {
    try {
      const rendered = template.render(messages, variables, new Date(now), tools);
      port.postMessage({ id, packed: packed(rendered) });
    } catch (error) {
      port.postMessage(error instanceof RequestRefusal ? { id, refused: error.error } : { id, fault: error });
    }
  });
}

export function packed({ pieces, ...rest }: RenderedPrompt): PackedPrompt {
  const ends = new Uint32Array(pieces.length);
  let end = 0;
  for (const [index, { text }] of pieces.entries()) {
    end += text.length;
    ends[index] = end;
  }
  return { ...rest, text: pieces.map(({ text }) => text).join(""), ends, firstLiteral: pieces[0]?.literal ?? false };
}

export function unpacked({ text, ends, firstLiteral, ...rest }: PackedPrompt): RenderedPrompt {
  const pieces = Array.from(ends, (end, index): PromptPiece => {
    const literal = firstLiteral === (index % 2 === 0);
    return { text: text.slice(index === 0 ? 0 : ends[index - 1], end), literal };
  });
  return { ...rest, pieces };
}
