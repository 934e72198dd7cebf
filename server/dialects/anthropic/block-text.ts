import type { ContentBlock, ResultContent, SystemContent } from "../../../openapi/anthropic/content.ts";

type Document = Extract<ContentBlock, { type: "document" }>;

/**
 * A line at the beginning of Claude Code's system prompt, of values that change with every request: with it, no request
 * would share a prefix with the one before.
 */
const BILLING_LINE = /^x-anthropic-billing-header:(?:[ \t]*[\w-]+=[^;\n]*;)*\s*/;

/** The text of a system prompt; empty for none. */
export function systemText(content: SystemContent): string {
  const texts = typeof content === "string" ? [content] : (content ?? []).map(({ text }) => text);
  return joined(texts.map((text) => text.replace(BILLING_LINE, "")));
}

/** The text of a block that is part of a message's own text; null for other blocks. */
export function blockText(block: ContentBlock | Exclude<ResultContent, string | null | undefined>[number]) {
  switch (block.type) {
    case "text":
      return block.text;
    case "document":
      return documentText(block);
    case "search_result":
      return joined([block.title, block.source, ...block.content.map(({ text }) => text)]);
    case "tool_reference":
      return block.tool_name;
    default:
      return null;
  }
}

/** The text of a tool's result; empty for none. */
export function resultText(content: ResultContent): string {
  if (content == null || typeof content === "string") return content ?? "";
  return joined(content.map((block) => blockText(block) ?? ""));
}

function documentText({ title, context, source }: Document): string {
  return joined([title ?? "", context ?? "", sourceText(source)]);
}

function sourceText(source: Document["source"]): string {
  if (source.type === "text") return source.data;
  if (source.type !== "content") return "";
  return typeof source.content === "string" ? source.content : joined(source.content.map(({ text }) => text));
}

/** Blocks are joined by a line break, since words would stick together without one. */
export function joined(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n");
}
