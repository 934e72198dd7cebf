import { expect, it } from "vitest";
import { type GrammarOutcome, keyOf, withoutMaking } from "../../../../grammar/kept-grammars.ts";
import { DEFAULT_REQUEST_LIMITS } from "../../../../openapi/request-limits.ts";
import { chatReader } from "../../../../server/dialects/chat.ts";
import { enforceForm } from "../../../../server/grammar/tool-grammar.ts";
import { FACTS } from "../fake-engine.ts";

const read = chatReader(DEFAULT_REQUEST_LIMITS);
const CHAT = { model: "demo", messages: [{ role: "user", content: "Hi" }] };
const none = new Map<string, GrammarOutcome>();

function tool(more: object) {
  return { type: "function", function: { name: "f", ...more } };
}

it.each([
  ["json_schema", "schema", { json_schema: { type: "string", title: "elsewhere" } }],
  ["grammar", "gbnf", { grammar: 'root ::= "elsewhere"' }],
  ["strict tools", "enforceable", { tools: [tool({ strict: true, parameters: { title: "elsewhere" } })] }],
] as const)("%s is checked without being made a grammar", (_name, kind, fields) => {
  const { missing } = withoutMaking(() => read({ ...CHAT, ...fields }), none);
  expect([...missing.values()].map((source) => source.kind)).toEqual([kind]);
  const refused: GrammarOutcome = { fault: kind === "gbnf" ? "gbnf" : "schema", path: [], message: "no such thing." };
  const known = new Map([...missing.keys()].map((key) => [key, refused]));
  expect(() => withoutMaking(() => read({ ...CHAT, ...fields }), known)).toThrow("no such thing");
});

it("the grammar of a choice of tools is made in another process", () => {
  const request = read({ ...CHAT, tools: [tool({ description: "d".repeat(100) })], tool_choice: "required" });
  const { missing } = withoutMaking(() => enforceForm(request, FACTS), none);
  const [source] = [...missing.values()];
  expect(source).toMatchObject({ kind: "tools" });
  expect(source!.text).not.toContain("ddd");
  const rule = { gbnf: "root ::= [a]", triggers: null };
  const known = new Map([[keyOf(source!), { grammar: JSON.stringify({ rule }) }]]);
  const { result } = withoutMaking(() => enforceForm(request, FACTS), known);
  expect(result.map(({ grammar }) => grammar)).toEqual([rule]);
});

it("schemas of tools over 512 Ki characters are reduced to the names of arguments", () => {
  const parameters = { properties: { name: { title: "t".repeat(1_000_000) } } };
  const request = read({ ...CHAT, tools: [tool({ parameters })], tool_choice: "required" });
  const { missing } = withoutMaking(() => enforceForm(request, FACTS), none);
  const [source] = [...missing.values()];
  expect(source!.text).toContain('"parameters":{"properties":{"name":{}}}');
  expect(source!.text.length).toBeLessThan(1000);
});

it("only a part of schemas far over 512 Ki characters is read", () => {
  let looks = 0;
  const item = {
    get title() {
      looks++;
      return "text";
    },
  };
  const { callable, ...choice } = read({ ...CHAT, tools: [tool({})], tool_choice: "required" }).toolChoice!;
  const parameters = { anyOf: Array(1_000_000).fill(item) };
  const large = callable.map(({ type, function: { name } }) => ({ type, function: { name, parameters } }));
  const request = { submissions: [], toolChoice: { ...choice, callable: large } };
  withoutMaking(() => enforceForm(request, FACTS), none);
  expect(looks).toBeLessThan((512 * 1024) / JSON.stringify(item).length + 10);
});
