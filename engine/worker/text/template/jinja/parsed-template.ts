import { parse, tokenize } from "@huggingface/jinja";
import type { Node } from "./nodes.ts";
import { lineOfTag, tagsOf } from "./template-lines.ts";
import { type Token, withTestArguments } from "./test-arguments.ts";

/** White space around statements as transformers sets it. */
const BLOCKS = { trim_blocks: true, lstrip_blocks: true };
const OPENING = new Set(["OpenStatement", "OpenExpression"]);

/** A template that is not Jinja, with the line where it is known. */
export class TemplateSyntaxError extends Error {
  override readonly name = "TemplateSyntaxError";

  constructor(message: string, line: number | null) {
    super(line === null ? message : `${message} (line ${line})`);
  }
}

/** @throws TemplateSyntaxError */
export function parsedTemplate(source: string): Node {
  const tokens = withTestArguments(tokensOf(source));
  let furthest = 0;
  // The parser's errors name no place: it is the furthest token that it read.
  const watched = new Proxy(tokens, {
    get: (target, key) => {
      if (typeof key === "string" && /^\d+$/.test(key)) furthest = Math.max(furthest, Number(key));
      return Reflect.get(target, key) as unknown;
    },
  });
  try {
    return parse(watched as Parameters<typeof parse>[0]) as unknown as Node;
  } catch (error) {
    const opened = tokens.slice(0, furthest + 1).filter(({ type }) => OPENING.has(type)).length;
    throw new TemplateSyntaxError(messageOf(error), lineOfTag(source, opened));
  }
}

function tokensOf(source: string): Token[] {
  try {
    return tokenize(source, BLOCKS) as Token[];
  } catch (error) {
    const broken = tagsOf(source).find(({ text }) => {
      try {
        tokenize(text);
        return false;
      } catch {
        return true;
      }
    });
    throw new TemplateSyntaxError(messageOf(error), broken?.line ?? null);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
