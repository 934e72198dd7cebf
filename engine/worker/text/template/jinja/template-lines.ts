import type { Node } from "./nodes.ts";

/** A statement or an expression of a template's source. */
interface Tag {
  line: number;
  text: string;
}

const QUOTED_OR_WORD = /"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*'|[\p{L}_][\p{L}\p{N}_]*|\n/gu;

/** The lines of a template's nodes. The package's parser keeps none, so that names are found again in the source, in order. */
export class TemplateLines {
  readonly #lines = new Map<Node, number>();

  constructor(source: string, program: Node) {
    const words = tagsOf(source).flatMap(wordsOf);
    let next = 0;
    for (const node of namesIn(program)) {
      const name = node.value.split(" ").at(-1);
      const at = words.findIndex(({ word }, index) => index >= next && word === name);
      if (at === -1) continue;
      this.#lines.set(node, words[at]!.line);
      next = at + 1;
    }
  }

  /** The line of a node's first name; null for a node without names. */
  lineOf(node: Node): number | null {
    for (const name of namesIn(node)) return this.#lines.get(name) ?? null;
    return null;
  }
}

/** The line of the statement or expression whose tokens the parser was reading. @param opened its number, from 1 on */
export function lineOfTag(source: string, opened: number): number | null {
  return tagsOf(source)[opened - 1]?.line ?? null;
}

/** The statements and expressions of a source, without comments. */
export function tagsOf(source: string): Tag[] {
  const tags: Tag[] = [];
  let line = 1;
  for (let at = 0; at < source.length; ) {
    const mark = source.slice(at, at + 2);
    const isTag = mark === "{%" || mark === "{{";
    if (!isTag && mark !== "{#") {
      if (source[at++] === "\n") line++;
      continue;
    }
    const end = isTag ? endOf(source, at + 2, mark === "{%" ? "%}" : "}}") : endOfComment(source, at);
    const text = source.slice(at, end);
    if (isTag) tags.push({ line, text });
    line += text.split("\n").length - 1;
    at = end;
  }
  return tags;
}

/** The end of a tag, whose marks may also stand in strings and, for `}}`, at the end of nested dictionaries. */
function endOf(source: string, from: number, mark: string): number {
  let depth = 0;
  for (let at = from; at < source.length; at++) {
    const character = source[at]!;
    if (character === '"' || character === "'") {
      while (++at < source.length && source[at] !== character) if (source[at] === "\\") at++;
    } else if (depth === 0 && source.startsWith(mark, at)) return at + 2;
    else if (character === "{") depth++;
    else if (character === "}") depth--;
  }
  return source.length;
}

function endOfComment(source: string, from: number): number {
  const end = source.indexOf("#}", from + 2);
  return end === -1 ? source.length : end + 2;
}

function wordsOf({ line, text }: Tag): { word: string; line: number }[] {
  let at = line;
  return [...text.matchAll(QUOTED_OR_WORD)].flatMap(([match]) => {
    const found = /^[\n"']/.test(match) ? [] : [{ word: match, line: at }];
    at += match.split("\n").length - 1;
    return found;
  });
}

/** The names within a node, in the order of the source. An operator is a token, whose type may be that of a name. */
function* namesIn(node: unknown): Generator<Node & { value: string }> {
  if (typeof node !== "object" || node === null) return;
  if ("type" in node) {
    if (node.type === "Identifier" && "value" in node) yield node as Node & { value: string };
    else if (node.type === "Ternary") yield* inOrder(node, ["trueExpr", "condition", "falseExpr"]);
    else if (node.type === "BinaryExpression") yield* inOrder(node, ["left", "right"]);
    else if (node.type === "UnaryExpression") yield* inOrder(node, ["argument"]);
    else if (node.type === "CallStatement") yield* inOrder(node, ["callerArgs", "call", "body"]);
    else for (const child of Object.values(node)) yield* namesIn(child);
    return;
  }
  const children = node instanceof Map ? [...node].flat() : Array.isArray(node) ? node : [];
  for (const child of children) yield* namesIn(child);
}

function* inOrder(node: object, fields: string[]): Generator<Node & { value: string }> {
  for (const field of fields) yield* namesIn((node as Record<string, unknown>)[field]);
}
