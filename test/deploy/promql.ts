/** One series of an expression: its name, required labels and their matchers. */
export interface Selector {
  name: string;
  matchers: { label: string; operator: "=" | "!=" | "=~" | "!~"; value: string }[];
}

export interface Expression {
  selectors: Selector[];
  /** Labels of by, without, on, ignoring, group_left and group_right. */
  groupings: string[];
}

const TOKEN =
  /\s+|#[^\n]*|(?<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<duration>\d+(?:ms|[smhdwy])(?:\d+(?:ms|[smhdw]))*)|(?<number>(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)|(?<word>[a-zA-Z_][\w:]*)|(?<sign>=~|!~|!=|==|<=|>=|[-+*/%^<>=(){}[\],@:])/giy;

const GROUPING = new Set(["by", "without", "on", "ignoring", "group_left", "group_right"]);
const OPERATOR = new Set(["and", "or", "unless", "bool", "offset", "atan2", "inf", "nan"]);
const MATCHING = ["=", "!=", "=~", "!~"] as const;

interface Token {
  kind: "string" | "duration" | "number" | "word" | "sign";
  text: string;
}

/**
 * The series and labels that a PromQL expression needs. promtool checks whether the expression is well formed beyond that.
 * Throws on unknown tokens and unmatched brackets.
 */
export function readExpression(text: string): Expression {
  const tokens = tokenize(text);
  const expression: Expression = { selectors: [], groupings: [] };
  const open: string[] = [];
  for (let i = 0; i < tokens.length; i++) {
    const { kind, text: word } = tokens[i]!;
    const next = tokens[i + 1]?.text;
    if (kind === "sign") track(open, word, text);
    if (kind !== "word" || OPERATOR.has(word.toLowerCase())) continue;
    if (GROUPING.has(word.toLowerCase())) {
      if (next !== "(") continue;
      const end = tokens.findIndex(({ text: sign }, at) => at > i && sign === ")");
      expression.groupings.push(...wordsOf(tokens.slice(i, end)).slice(1));
      i = end;
    } else if (next !== "(" && !isAggregation(next)) {
      const end = next === "{" ? tokens.findIndex(({ text: sign }, at) => at > i && sign === "}") : i;
      expression.selectors.push({ name: word, matchers: next === "{" ? matchersOf(tokens.slice(i + 2, end)) : [] });
      i = end;
    }
  }
  if (open.length > 0) throw new Error(`"${open.at(-1)}" is not closed: ${text}`);
  return expression;
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex;
    const groups = TOKEN.exec(text)?.groups;
    if (groups === undefined) throw new Error(`Not PromQL at "${text.slice(at, at + 20)}": ${text}`);
    for (const [kind, found] of Object.entries(groups))
      if (found !== undefined) tokens.push({ kind: kind as Token["kind"], text: found });
  }
  return tokens;
}

/** `sum by (…) (…)`: an aggregation's labels may precede its argument. */
function isAggregation(next: string | undefined): boolean {
  return next === "by" || next === "without";
}

function wordsOf(tokens: readonly Token[]): string[] {
  return tokens.filter(({ kind }) => kind === "word").map(({ text }) => text);
}

function matchersOf(tokens: readonly Token[]): Selector["matchers"] {
  const matchers: Selector["matchers"] = [];
  for (let i = 0; i < tokens.length; i += 4) {
    const [label, sign, value, comma] = tokens.slice(i, i + 4);
    const operator = MATCHING.find((one) => one === sign?.text);
    const wellFormed =
      label?.kind === "word" && value?.kind === "string" && (comma === undefined || comma.text === ",");
    if (!wellFormed || operator === undefined)
      throw new Error(`Not a matcher: ${tokens.map(({ text }) => text).join(" ")}`);
    matchers.push({ label: label.text, operator, value: unquote(value.text) });
  }
  return matchers;
}

function unquote(quoted: string): string {
  return quoted.slice(1, -1).replace(/\\(.)/g, "$1");
}

const CLOSES: Record<string, string> = { ")": "(", "]": "[", "}": "{" };

function track(open: string[], sign: string, text: string): void {
  if ("([{".includes(sign)) open.push(sign);
  const opening = CLOSES[sign];
  if (opening !== undefined && open.pop() !== opening) throw new Error(`"${sign}" closes nothing: ${text}`);
}
