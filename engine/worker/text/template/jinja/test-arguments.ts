/** A token of the package's lexer. */
export interface Token {
  type: string;
  value: string;
}

/** Words that continue an expression behind a test, and are no argument of it. */
const CONTINUING = new Set("and or if else is in not".split(" "));
const CLOSING: Record<string, string> = {
  OpenParen: "CloseParen",
  OpenSquareBracket: "CloseSquareBracket",
  OpenCurlyBracket: "CloseCurlyBracket",
};
const LITERALS = new Set(["NumericLiteral", "StringLiteral"]);

/**
 * The tokens with every test that has arguments (`x is divisibleby(3)`, `x is not in [1, 2]`, `x is eq 3`) as a filter of the
 * name `is divisibleby`: the package's parser takes names of tests alone.
 */
export function withTestArguments(tokens: readonly Token[]): Token[] {
  const result: Token[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]!;
    result.push(token);
    if (!isWord(token, "is") || tokens[at - 1]?.type === "Dot") continue;
    const negated = isWord(tokens[at + 1], "not");
    const name = tokens[at + (negated ? 2 : 1)];
    const from = at + (negated ? 3 : 2);
    const to = name?.type === "Identifier" ? argumentsEnd(tokens, from) : from;
    if (name === undefined || to === from) continue;
    const inside = tokens.slice(from, to);
    const isWrapped = inside[0]!.type === "OpenParen";
    result.pop();
    result.push(
      { type: "Pipe", value: "|" },
      { type: "Identifier", value: `is ${negated ? "not " : ""}${name.value}` },
    );
    if (!isWrapped) result.push({ type: "OpenParen", value: "(" });
    result.push(...withTestArguments(inside));
    if (!isWrapped) result.push({ type: "CloseParen", value: ")" });
    at = to - 1;
  }
  return result;
}

/** The token behind the arguments that begin at `from`; `from` where there are none. */
function argumentsEnd(tokens: readonly Token[], from: number): number {
  const first = tokens[from];
  if (first === undefined) return from;
  const closing = CLOSING[first.type];
  if (closing !== undefined) return closeOf(tokens, from, first.type, closing) + 1;
  const isArgument = first.type === "Identifier" ? !CONTINUING.has(first.value) : LITERALS.has(first.type);
  if (!isArgument) return from;
  let end = from + 1;
  while (tokens[end]?.type === "Dot") end += 2;
  return end;
}

function closeOf(tokens: readonly Token[], from: number, opening: string, closing: string): number {
  let depth = 0;
  for (let at = from; at < tokens.length; at++) {
    if (tokens[at]!.type === opening) depth++;
    else if (tokens[at]!.type === closing && --depth === 0) return at;
  }
  return tokens.length - 1;
}

function isWord(token: Token | undefined, word: string): boolean {
  return token?.type === "Identifier" && token.value === word;
}
