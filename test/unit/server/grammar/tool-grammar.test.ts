import { describe, expect, test } from "vitest";
import type { Asked } from "../../../../engine/engine.ts";
import type { GrammarRule } from "../../../../engine/protocol/request.ts";
import type { ToolChoice } from "../../../../engine/protocol/tool-choice.ts";
import { TOOL_FORMAT_NAMES, toolFormat } from "../../../../engine/tools/format-list.ts";
import { Automaton } from "../../../../engine/worker/grammar/automaton.ts";
import { compileGbnf } from "../../../../grammar/gbnf/compile-gbnf.ts";
import type { ApiError } from "../../../../openapi/api-error.ts";
import { enforceForm, toolRule } from "../../../../server/grammar/tool-grammar.ts";
import { PLAIN_SUBMISSION } from "../../../plain-submission.ts";
import { type Answer, read, text, WEATHER } from "../../engine/tools/reading.ts";
import { FACTS } from "../cli/facts.ts";

/** One call of get_weather in Paris as each format writes it, after the end of the prompt. */
const CALLS: Record<string, string> = {
  hermes: '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>',
  llama: '{"name": "get_weather", "parameters": {"city": "Paris"}}',
  pythonic: '[get_weather(city="Paris")]',
  mistral: '[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Paris"}}]',
  "mistral-args": '[TOOL_CALLS]get_weather[ARGS]{"city": "Paris"}',
  deepseek:
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{"city": "Paris"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
  "deepseek-v3.1":
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Paris"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
  "deepseek-v3.2":
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter name="city" string="true">Paris</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
  "deepseek-v4":
    '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter name="city" string="true">Paris</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
  functiongemma: "<start_function_call>call:get_weather{city:<escape>Paris<escape>}<end_function_call>",
  gemma4: '<|tool_call>call:get_weather{city:<|"|>Paris<|"|>}<tool_call|>',
  "tool-code": '```tool_code\nget_weather(city="Paris")\n```',
  functionary: '<function=get_weather>{"city": "Paris"}</function>',
  "functionary-v3.2": 'get_weather\n{"city": "Paris"}',
  glm: "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>",
  "qwen-coder": "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>",
  kimi: '<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Paris"}<|tool_call_end|><|tool_calls_section_end|>',
  "kimi-k3":
    '<|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|><|open|>argument key="city" type="string"<|sep|>Paris<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>',
  cohere:
    '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Paris"}}\n]<|END_ACTION|>',
  "command-r": 'Action:\n```json\n[{"tool_name": "get_weather", "parameters": {"city": "Paris"}}]\n```',
  apertus: '<|tools_prefix|>[{"get_weather": {"city": "Paris"}}]<|tools_suffix|>',
  nemotron: '<TOOLCALL>[{"name": "get_weather", "arguments": {"city": "Paris"}}]</TOOLCALL>',
  apriel: '<tool_calls>[{"name": "get_weather", "arguments": {"city": "Paris"}}]</tool_calls>',
  "minimax-m1": '<tool_calls>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_calls>',
  "minimax-m2":
    '<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Paris</parameter>\n</invoke>\n</minimax:tool_call>',
  "minimax-m3":
    ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>Paris]<]minimax[>[</city>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>',
  firefunction: 'functools[{"name": "get_weather", "arguments": {"city": "Paris"}}]',
  gigachat3: '<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "get_weather", "arguments": {"city": "Paris"}}',
  "gigachat3.1": '<|function_call|>{"name": "get_weather", "arguments": {"city": "Paris"}}',
  seed: "<seed:tool_call>\n<function=get_weather>\n<parameter=city>Paris</parameter>\n</function>\n</seed:tool_call>",
  muse: ' to=get_weather<|message|><atem:function_calls>\n<atem:invoke name="get_weather">\n<atem:parameter name="city">Paris</atem:parameter>\n</atem:invoke>\n</atem:function_calls>',
  minicpm5: '<function name="get_weather"><param name="city">Paris</param></function>',
  harmony: '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Paris"}',
};

const CITY = {
  ...WEATHER,
  function: {
    ...WEATHER.function,
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer" }, unit: { enum: ["C", "F"] }, more: {} },
      required: ["city"],
      additionalProperties: false,
    },
  },
};
const REQUIRED: ToolChoice = { callable: [CITY], required: true, restricted: false, parallel: false, answer: null };

function ruleOf(name: string, choice: ToolChoice): GrammarRule {
  return toolRule(choice, toolFormat(name))!;
}

/** Whether the grammar takes the text: not at all, as a beginning, or as a whole. */
function accepted({ gbnf, lead }: GrammarRule, text: string): "whole" | "beginning" | null {
  const automaton = new Automaton(compileGbnf(gbnf, lead));
  const state = automaton.walk(automaton.start, Buffer.from(text));
  if (state === null) return null;
  return state.complete ? "whole" : "beginning";
}

describe.each(TOOL_FORMAT_NAMES)("%s", (name) => {
  const call = CALLS[name]!;

  test("the grammar accepts a call that the parser reads", () => {
    expect(read(name, call, [CITY]).calls).toMatchObject([{ name: "get_weather", arguments: '{"city": "Paris"}' }]);
    expect(accepted(ruleOf(name, REQUIRED), call)).toBe("whole");
  });

  test("the grammar refuses other tools, text, and calls without a required argument", () => {
    const rule = ruleOf(name, REQUIRED);
    expect(accepted(rule, call.replace("get_weather", "get_time"))).toBeNull();
    expect(accepted(rule, "Paris is nice.")).toBeNull();
    const empty = call
      .replace('{"city": "Paris"}', "{}")
      .replace('city="Paris"', "")
      .replace(/city:(<\S+>)Paris\1/, "")
      .replace(/<arg_key>.*<\/arg_value>\n/s, "")
      .replace(/<parameter=.*<\/parameter>\n/s, "")
      .replace(/<param name=.*<\/param>/s, "")
      .replace(/<atem:parameter .*<\/atem:parameter>\n/s, "")
      .replace(/<parameter name=.*<\/parameter>\n/s, "")
      .replace(/\]<\]minimax\[>\[<city>.*<\/city>/s, "")
      .replace(/<\|open\|>argument .*<\|close\|>argument<\|sep\|>/s, "")
      .replace(/<｜DSML｜parameter.*<\/｜DSML｜parameter>\n/s, "");
    expect(empty).not.toBe(call);
    expect(accepted(rule, empty)).toBeNull();
  });

  test("a call after text begins with one of its triggers", () => {
    const rule = ruleOf(name, { ...REQUIRED, required: false });
    const starts = rule.triggers!.map((trigger) => call.indexOf(trigger)).filter((at) => at >= 0);
    expect(accepted(rule, call.slice(Math.min(...starts)))).toBe("whole");
  });
});

const FREE: ToolChoice = { ...REQUIRED, required: false, parallel: true };

test("a free choice of tools has no grammar", () => {
  expect(toolRule(FREE, toolFormat("hermes"))).toBeNull();
});

test.each<[string, Partial<ToolChoice>]>([
  ["calls are one at most", { parallel: false }],
  ["a tool is not allowed", { restricted: true }],
  ["a tool is strict", { callable: [{ ...CITY, function: { ...CITY.function, strict: true } }] }],
])("there is one when %s", (_, changed) => {
  expect(toolRule({ ...FREE, ...changed }, toolFormat("hermes"))?.triggers).toEqual(["<tool_call>"]);
});

test("several calls are consecutive, unless parallel calls are off", () => {
  const two = `${CALLS.hermes}\n${CALLS.hermes}`;
  expect(accepted(ruleOf("hermes", { ...REQUIRED, parallel: true }), two)).toBe("whole");
  expect(accepted(ruleOf("hermes", REQUIRED), two)).toBeNull();
});

test.each([
  "glm",
  "qwen-coder",
  "seed",
  "gemma4",
  "functiongemma",
  "deepseek-v3.2",
  "minimax-m2",
  "minimax-m3",
  "kimi-k3",
])("%s: a bare string may contain prefixes of its end", (name) => {
  for (const city of ["1 << 2", "a < b", "<<EOF\n<|x", "x </arg </para <esc </arg_value", "<", "x ]<]mini"]) {
    const call = CALLS[name]!.replace("Paris", city);
    expect(read(name, call, [CITY]).calls).toMatchObject([{ arguments: JSON.stringify({ city }).replace(":", ": ") }]);
    expect(accepted(ruleOf(name, REQUIRED), call)).toBe("whole");
  }
});

test.each(["glm", "qwen-coder", "gemma4"])("%s: a bare string does not contain its end", (name) => {
  const end = { glm: "</arg_value>", "qwen-coder": "\n</parameter>", gemma4: '<|"|>' }[name]!;
  expect(accepted(ruleOf(name, REQUIRED), CALLS[name]!.replace("Paris", `Par${end}is`))).toBeNull();
});

/** Arguments of tools in tagged formats, in the order of the call, with what the grammar has to accept. */
const OPTIONAL = {
  type: "object",
  properties: {
    one: { type: "string" },
    two: { type: ["string", "null"] },
    three: { anyOf: [{ type: "string" }, { type: "null" }] },
    four: {},
    five: { type: "integer" },
  },
  required: ["one", "five"],
  additionalProperties: false,
};
const TAGGED: Record<string, (args: [string, string][]) => string> = {
  glm: (args) =>
    `<tool_call>f\n${args.map(([key, value]) => `<arg_key>${key}</arg_key>\n<arg_value>${value}</arg_value>\n`).join("")}</tool_call>`,
  "qwen-coder": (args) =>
    `<tool_call>\n<function=f>\n${args.map(([key, value]) => `<parameter=${key}>\n${value}\n</parameter>\n`).join("")}</function>\n</tool_call>`,
  "minimax-m2": (args) =>
    `<minimax:tool_call>\n<invoke name="f">\n${args.map(([key, value]) => `<parameter name="${key}">${value}</parameter>\n`).join("")}</invoke>\n</minimax:tool_call>`,
  minicpm5: (args) =>
    `<function name="f">${args.map(([key, value]) => `<param name="${key}">${value}</param>`).join("")}</function>`,
};

describe.each(Object.entries(TAGGED))("%s: the grammar of tagged arguments", (name, call) => {
  const tool = { type: "function" as const, function: { name: "f", parameters: OPTIONAL, strict: true } };
  const rule = ruleOf(name, { ...REQUIRED, callable: [tool] });

  test("accepts strings as bare text where other types, or any, are allowed too", () => {
    const text = call([
      ["one", "a b"],
      ["two", "hello world"],
      ["three", "1 Main St"],
      ["four", "plain"],
      ["five", "5"],
    ]);
    expect(accepted(rule, text)).toBe("whole");
    const [made] = read(name, text, [tool]).calls;
    const expected = { one: "a b", two: "hello world", three: "1 Main St", four: "plain", five: 5 };
    expect(JSON.parse(made!.arguments)).toEqual(expected);
  });

  test("reads null and numbers by the types of the schema", () => {
    const text = call([
      ["one", "7"],
      ["five", "5"],
      ["two", "null"],
      ["three", "12"],
      ["four", "[1]"],
    ]);
    expect(accepted(rule, text)).toBe("whole");
    const [made] = read(name, text, [tool]).calls;
    expect(JSON.parse(made!.arguments)).toEqual({ one: "7", five: 5, two: null, three: "12", four: [1] });
  });

  test("accepts arguments in any order, and needs the required ones", () => {
    expect(
      accepted(
        rule,
        call([
          ["four", "x"],
          ["five", "5"],
          ["two", "y"],
          ["one", "z"],
        ]),
      ),
    ).toBe("whole");
    expect(
      accepted(
        rule,
        call([
          ["four", "x"],
          ["five", "5"],
        ]),
      ),
    ).toBeNull();
  });
});

test("many required arguments come in the order of the schema", () => {
  const keys = Array.from({ length: 12 }, (_, index) => `k${index}`);
  const properties = Object.fromEntries(keys.map((key) => [key, { type: "string" }]));
  const parameters = { type: "object", properties, required: keys, additionalProperties: false };
  const tool = { type: "function" as const, function: { name: "f", parameters } };
  const rule = ruleOf("glm", { ...REQUIRED, callable: [tool] });
  const call = (list: string[]) => TAGGED.glm!(list.map((key) => [key, "x"]));
  expect([call(keys), call([...keys].reverse())].map((text) => accepted(rule, text))).toEqual(["whole", null]);
});

/** Other spellings of the same call, which models write at times. */
test.each<[string, string]>([
  ["qwen-coder", CALLS["qwen-coder"]!.replace("<tool_call>\n", "")],
  ["kimi", CALLS.kimi!.replace("<|tool_calls_section_begin|>", "").replace("<|tool_calls_section_end|>", "")],
  ["deepseek", CALLS.deepseek!.replace("\n```<", "```<")],
  ["harmony", CALLS.harmony!.replace("commentary", "analysis")],
  ["harmony", ' to=functions.get_weather<|channel|>analysis <|constrain|>json<|message|>{"city": "Paris"}'],
  ["pythonic", '[get_weather(city="Paris", more={"k": [True, null]})]'],
])("%s: the grammar accepts %s", (name, call) => {
  expect(read(name, call, [CITY]).calls).toMatchObject([{ name: "get_weather" }]);
  expect(accepted(ruleOf(name, REQUIRED), call)).toBe("whole");
});

test("an object and a list of any items are Python literals", () => {
  const properties = { map: { type: "object" }, list: { type: "array" } };
  const tool = { type: "function" as const, function: { name: "f", parameters: { properties, required: ["map"] } } };
  const call = '[f(map={"a": True, "b": {"c": None}}, list=[1, "x"])]';
  expect(accepted(ruleOf("pythonic", { ...REQUIRED, callable: [tool] }), call)).toBe("whole");
  expect(read("pythonic", call, [tool]).calls).toMatchObject([
    { arguments: '{"map": {"a": true, "b": {"c": null}}, "list": [1, "x"]}' },
  ]);
});

test("Mistral's calls may have an id of nine letters and digits behind their arguments", () => {
  const rule = ruleOf("mistral", REQUIRED);
  const call = (id: string) => CALLS.mistral!.replace('"}}]', `"}, "id": "${id}"}]`);
  expect([call("a1B2c3D4e"), call("call_1234")].map((text) => accepted(rule, text))).toEqual(["whole", null]);
});

test("gpt-oss may reason before a required call", () => {
  const rule = ruleOf("harmony", REQUIRED);
  const thinking = (text: string) => `<|channel|>analysis<|message|>${text}<|end|>`;
  for (const thought of ["Hm.", "1 << 2 < 5", "a <", "<<"]) {
    const whole = `${thinking(thought)}<|start|>assistant${CALLS.harmony}`;
    expect(accepted(rule, whole), whole).toBe("whole");
    // The mark ends the thought in any case: the text after it is no part of the thought.
    expect(accepted(rule, `${thinking(thought)} and on`)).toBeNull();
  }
});

test("with a response format the answer is calls or that format", () => {
  const rule = ruleOf("hermes", { ...FREE, answer: { type: "object", properties: {}, additionalProperties: false } });
  expect(rule.triggers).toBeNull();
  expect(["{}", CALLS.hermes!, "Paris"].map((text) => accepted(rule, text))).toEqual(["whole", "whole", null]);
});

describe("a grammar for a model with an own beginning of answers", () => {
  const chat = {
    kind: "chat" as const,
    messages: [],
    tools: [],
    variables: {},
    thinking: { effort: null, budget: null },
  };
  const enforced = (toolFormat: string, prompt: Asked["prompt"] = chat): GrammarRule => {
    const asked = { ...PLAIN_SUBMISSION, prompt, grammar: { gbnf: 'root ::= "{}"', triggers: null } };
    return enforceForm({ submissions: [asked], toolChoice: null }, { ...FACTS, toolFormat })[0]!.grammar!;
  };

  test.each<[string, string, Partial<Answer>]>([
    ["harmony", "<|channel|>final<|message|>{}", {}],
    [
      "harmony",
      "<|channel|>analysis<|message|>a < b.<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>{}",
      { thought: "a < b." },
    ],
    ["functionary-v3.2", "all\n{}", {}],
  ])("%s: %s", (name, written, held) => {
    expect(accepted(enforced(name), written)).toBe("whole");
    expect(accepted(enforced(name), "{}")).toBeNull();
    expect(read(name, written)).toEqual({ ...text("{}"), ...held });
    const choice = { ...FREE, answer: { const: true } };
    expect(accepted(ruleOf(name, choice), written.replace("{}", "true"))).toBe("whole");
  });

  test("other models and completions begin with the grammar", () => {
    expect(accepted(enforced("hermes"), "{}")).toBe("whole");
    expect(accepted(enforced("harmony", { kind: "text", text: "x" }), "{}")).toBe("whole");
  });
});

test("a tool without parameters has no arguments", () => {
  const ping = { type: "function" as const, function: { name: "ping" } };
  const rule = ruleOf("hermes", { ...REQUIRED, callable: [ping] });
  const call = (args: string) => `<tool_call>\n{"name": "ping", "arguments": ${args}}\n</tool_call>`;
  expect(["{}", '{"a": 1}'].map((args) => accepted(rule, call(args)))).toEqual(["whole", null]);
});

describe("tools with too large schemas", () => {
  const many = (strict: boolean, properties = 40) =>
    Array.from({ length: 128 }, (_, i) => {
      const names = Array.from({ length: properties }, (_, j) => [`property_${i}_${j}`, { type: "integer" }]);
      const parameters = { type: "object", properties: Object.fromEntries(names), required: [] };
      return { type: "function" as const, function: { name: `f${i}`, parameters, strict } };
    });

  test("are enforced by name, where none is strict", () => {
    const rule = ruleOf("hermes", { ...REQUIRED, callable: many(false) });
    const call = (name: string) => `<tool_call>\n{"name": "${name}", "arguments": {"x": 1}}\n</tool_call>`;
    expect([call("f127"), call("f128")].map((text) => accepted(rule, text))).toEqual(["whole", null]);
    const tagged = "<tool_call>f1\n<arg_key>property_1_3</arg_key>\n<arg_value>7</arg_value>\n</tool_call>";
    expect(accepted(ruleOf("glm", { ...REQUIRED, callable: many(false).slice(0, 15) }), tagged)).toBe("whole");
  });

  test.each([
    ["hermes", true, 40],
    ["glm", false, 400],
  ])("are refused in %s where they must be there (strict: %s)", (name, strict, properties) => {
    const refused = () => ruleOf(name, { ...REQUIRED, callable: many(strict, properties) });
    expect(refused).toThrow(expect.objectContaining<Partial<ApiError>>({ status: 400, param: "tools" }));
  });
});

describe("a schema that no grammar can express", () => {
  const parameters = { type: "object", properties: { a: { not: { format: "date" } } }, required: ["a"] };
  const odd = (strict: boolean) => ({ type: "function" as const, function: { name: "odd", parameters, strict } });

  test("allows any object where the tool is not strict", () => {
    const rule = ruleOf("hermes", { ...REQUIRED, callable: [odd(false)] });
    expect(accepted(rule, '<tool_call>\n{"name": "odd", "arguments": {"b": [1]}}\n</tool_call>')).toBe("whole");
  });

  test("is refused for a strict tool, with its path", () => {
    const refused = () => ruleOf("hermes", { ...REQUIRED, callable: [odd(true)] });
    expect(refused).toThrow(expect.objectContaining<Partial<ApiError>>({ status: 400, param: "tools" }));
    expect(refused).toThrow(/'odd': 'parameters.properties.a.not'/);
  });
});
