import { readFileSync } from "node:fs";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { ChatMessage, FunctionTool } from "../../../../../../engine/protocol/prompt.ts";
import { RequestRefusal } from "../../../../../../engine/protocol/request-refusal.ts";
import { ChatTemplate, type TemplateVocabulary } from "../../../../../../engine/worker/text/template/chat-template.ts";
import {
  CHATML,
  DEEPSEEK,
  DEEPSEEK_TEMPLATE,
  GEMMA,
  GEMMA_TEMPLATE,
  LLAMA,
  LLAMA_TEMPLATE,
  MISTRAL,
  MISTRAL_TEMPLATE,
  PLAIN_CHATML,
  QWEN,
} from "./templates.ts";

const NOW = new Date(2026, 1, 3, 4, 5);

const user = (content: string): ChatMessage => ({ role: "user", content });
const assistant = (content: string): ChatMessage => ({ role: "assistant", content });
const system = (content: string): ChatMessage => ({ role: "system", content });

const CALLS: ChatMessage[] = [
  user("Rain?"),
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "call00001", type: "function", function: { name: "weather", arguments: '{"city": "Oslo"}' } }],
  },
  { role: "tool", content: "yes", tool_call_id: "call00001" },
];

function text(
  source: string | null,
  vocabulary: TemplateVocabulary,
  messages: ChatMessage[],
  variables: Record<string, unknown> = {},
  tools: FunctionTool[] = [],
): string {
  const { pieces } = new ChatTemplate(source, vocabulary).render(messages, variables, NOW, tools);
  return pieces.map((piece) => piece.text).join("");
}

function refusal(source: string, vocabulary: TemplateVocabulary, messages: ChatMessage[], variables = {}) {
  try {
    text(source, vocabulary, messages, variables);
  } catch (error) {
    if (error instanceof RequestRefusal) return error.error;
    throw error;
  }
  throw new Error("rendered");
}

test("the openings of an answer are those of each switch that the history does not repeat", () => {
  const switched = "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}";
  const source =
    "{% for message in messages %}[{{ message.role }}]{{ message.content }}{% endfor %}" +
    `{% if add_generation_prompt %}[assistant]${switched}{% endif %}`;
  const { openings } = new ChatTemplate(source, CHATML);
  expect(openings).toEqual(["[assistant]<think></think>"]);
  // A vocabulary without the tokens of ChatML has twice the tokens for its opening: completions alone would lose them.
  expect(new ChatTemplate(null, CHATML).openings).toEqual([]);
});

describe("golden prompts", () => {
  test("ChatML replaces a missing template", () => {
    const template = new ChatTemplate(null, CHATML);
    expect(template.fallback).toBe(true);
    expect(template.warning).toContain("no chat template");
    expect(text(null, CHATML, [system("Be brief."), user("Hi")])).toBe(
      "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
    );
  });

  test("ChatML replaces an unusable template, with the reason in a warning", () => {
    const template = new ChatTemplate("{% for x in %}", CHATML);
    expect(template.fallback).toBe(true);
    expect(template.warning).toMatch(/can't be used \(.+\)/);
  });

  test("a last assistant message is a finished turn", () => {
    expect(text(PLAIN_CHATML, CHATML, [user("Hi"), assistant("Well")])).toBe(
      "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nWell<|im_end|>\n<|im_start|>assistant\n",
    );
  });

  test("add_generation_prompt can be switched off", () => {
    expect(text(PLAIN_CHATML, CHATML, [user("Hi")], { add_generation_prompt: false })).toBe(
      "<|im_start|>user\nHi<|im_end|>\n",
    );
  });

  test("Qwen: tools, calls with parsed arguments, reasoning cut, thinking off", () => {
    const described = { name: "weather", description: "Rain?", parameters: { type: "object", properties: {} } };
    const tools: FunctionTool[] = [{ type: "function", function: described }];
    const messages = [system("S"), ...CALLS, assistant("<think>\nhm\n</think>\n\nYes."), user("Thanks")];
    expect(text(QWEN, CHATML, messages, { enable_thinking: false }, tools)).toBe(
      [
        '<|im_start|>system\nS\n\nFunctions:\n<tools>\n{"type": "function", "function": {"name": "weather", ',
        '"description": "Rain?", "parameters": {"type": "object", "properties": {}}}}\n',
        "</tools><|im_end|>\n<|im_start|>user\nRain?<|im_end|>\n<|im_start|>assistant\n\n<tool_call>\n",
        '{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call><|im_end|>\n',
        "<|im_start|>user\n<tool_response>\nyes\n</tool_response><|im_end|>\n",
        "<|im_start|>assistant\nYes.<|im_end|>\n<|im_start|>user\nThanks<|im_end|>\n",
        "<|im_start|>assistant\n<think>\n\n</think>\n\n",
      ].join(""),
    );
  });

  test("Llama 3: BOS, the date of the clock, trimmed content", () => {
    expect(text(LLAMA_TEMPLATE, LLAMA, [{ role: "developer", content: "S" }, user("  Hi \n")])).toBe(
      "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nToday Date: 03 Feb 2026\n\nS<|eot_id|>" +
        "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
    );
  });

  test("a template with a developer role gets it", () => {
    const source = `{# developer #}${PLAIN_CHATML}`;
    expect(text(source, CHATML, [{ role: "developer", content: "S" }], { add_generation_prompt: false })).toBe(
      "<|im_start|>developer\nS<|im_end|>\n",
    );
  });

  test("Mistral: no system role, so its text goes into the first user message", () => {
    expect(text(MISTRAL_TEMPLATE, MISTRAL, [system("S"), user("a"), assistant("b"), user("c")])).toBe(
      "<s>[INST] S\n\na [/INST] b</s>[INST] c [/INST]",
    );
    expect(text(MISTRAL_TEMPLATE, MISTRAL, [system("S")])).toBe("<s>[INST] S [/INST]");
  });

  test("Gemma: the assistant is called model", () => {
    expect(text(GEMMA_TEMPLATE, GEMMA, [system("S"), user(" a "), assistant("b"), user("c")])).toBe(
      "<bos><start_of_turn>user\nS\n\n a<end_of_turn>\n<start_of_turn>model\nb<end_of_turn>\n" +
        "<start_of_turn>user\nc<end_of_turn>\n<start_of_turn>model\n",
    );
  });

  test("DeepSeek-R1: arguments stay text, reasoning is cut, reasoning is opened", () => {
    expect(text(DEEPSEEK_TEMPLATE, DEEPSEEK, [system("S"), ...CALLS, assistant("hm</think>Yes."), user("Bye")])).toBe(
      "<｜begin▁of▁sentence｜>S<｜User｜>Rain?<｜Assistant｜><｜tool▁call▁begin｜>weather\n" +
        '{"city": "Oslo"}<｜end▁of▁sentence｜><result>yes</result><｜Assistant｜>Yes.<｜end▁of▁sentence｜>' +
        "<｜User｜>Bye<｜Assistant｜><think>\n",
    );
  });

  test("the demo model's own template", () => {
    const gguf = readFileSync(new URL("../../../../../../models/demo.gguf", import.meta.url)).toString("latin1");
    const start = gguf.indexOf("{%-", gguf.indexOf("tokenizer.chat_template"));
    const last = "{{- '<|im_start|>assistant\\n' -}}{%- endif -%}";
    const source = gguf.slice(start, gguf.indexOf(last, start) + last.length);
    expect(text(source, CHATML, [user("hi"), ...CALLS])).toBe(
      "<|im_start|>user\nhi<|im_end|>\n<|im_start|>user\nRain?<|im_end|>\n<|im_start|>assistant\n" +
        '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call><|im_end|>\n' +
        "<|im_start|>tool\nyes<|im_end|>\n<|im_start|>assistant\n",
    );
  });

  test("arguments of very many values together are refused before they are parsed", () => {
    const called = (args: string, count: number) => [
      user("?"),
      ...Array.from({ length: count }, (_, i): ChatMessage => {
        const call = { id: `c${i}`, type: "function" as const, function: { name: "f", arguments: args } };
        return { role: "assistant", content: null, tool_calls: [call] };
      }),
    ];
    const lists = `{"a":[${Array(1024).fill("[]").join()}],"text":"[,{\\"[,{"}`;
    const parse = vi.spyOn(JSON, "parse");
    onTestFinished(() => parse.mockRestore());
    expect(refusal(QWEN, CHATML, called(lists, 64))).toMatchObject({ code: "invalid_value", param: "messages" });
    expect(parse.mock.calls.filter(([text]) => text === lists)).toEqual([]);
    expect(text(QWEN, CHATML, called(lists, 2))).toContain("<tool_call>");
    // A template that renders arguments as text parses none.
    expect(text(DEEPSEEK_TEMPLATE, DEEPSEEK, called(lists, 64))).toContain("[],[]");
  });

  test("arguments that are no JSON object stay text, however deep", () => {
    const called = (args: string): ChatMessage[] => [
      user("Rain?"),
      { ...CALLS[1]!, tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: args } }] },
    ];
    const deep = `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    for (const args of ["not json", "[1]", "3", '{"a":', deep]) {
      expect(text(QWEN, CHATML, called(args))).toContain(`"arguments": ${args}}`);
    }
  });

  test("strftime_now gives English names and leaves unknown directives", () => {
    const source = "{{ strftime_now('%A %-d %B %y %I:%M %p %H:%S %b %a %F %Q %%') }}{{ messages[0].content }}";
    expect(text(source, CHATML, [user("!")])).toBe("Tuesday 3 February 26 04:05 AM 04:00 Feb Tue 2026-02-03 %Q %!");
  });
});

describe("a rendered prompt states", () => {
  test("whether the template wrote BOS itself", () => {
    expect(new ChatTemplate(LLAMA_TEMPLATE, LLAMA).render([user("Hi")], {}, NOW).startsWithBos).toBe(true);
    expect(new ChatTemplate(PLAIN_CHATML, CHATML).render([user("Hi")], {}, NOW).startsWithBos).toBe(false);
  });

  test("BOS text of a client at the start is not the template's", () => {
    const bare = new ChatTemplate("{{ messages[0].content }}", LLAMA);
    const { startsWithBos, pieces } = bare.render([user("<|begin_of_text|>Hi")], {}, NOW);
    expect(startsWithBos).toBe(false);
    expect(pieces[0]).toEqual({ text: "<|begin_of_text|>", literal: true });
  });

  test("tags and whether the prompt ends in reasoning", () => {
    const r1 = new ChatTemplate(DEEPSEEK_TEMPLATE, DEEPSEEK);
    expect(r1.reasoningTags).toEqual({ open: "<think>", close: "</think>" });
    expect(r1.render([user("Hi")], {}, NOW).startsInReasoning).toBe(true);
    expect(r1.render([user("<think>")], { add_generation_prompt: false }, NOW).startsInReasoning).toBe(true);
    const qwen = new ChatTemplate(QWEN, CHATML);
    expect(qwen.render([user("Hi <think>")], {}, NOW).startsInReasoning).toBe(false);
    expect(qwen.render([user("Hi")], { enable_thinking: false }, NOW).startsInReasoning).toBe(false);
    expect(new ChatTemplate(PLAIN_CHATML, CHATML).reasoningTags).toBe(null);
    const tokens = ["[THINK]", "[/THINK]"];
    const magistral = new ChatTemplate(PLAIN_CHATML, { ...CHATML, hasToken: (token) => tokens.includes(token) });
    expect(magistral.reasoningTags).toEqual({ open: "[THINK]", close: "[/THINK]" });
    const gemma4 = new ChatTemplate("{{ '<|turn>model\\n<|channel>thought\\n<channel|>' }}", CHATML);
    expect(gemma4.reasoningTags).toMatchObject({ open: "<|channel>thought", close: "<channel|>" });
  });
});

describe("refusals", () => {
  test("a template's own message is in the client's 400", () => {
    expect(refusal(MISTRAL_TEMPLATE, MISTRAL, [user("a"), user("b")])).toEqual({
      code: "invalid_value",
      param: "messages",
      message:
        "The model's chat template refuses these messages: Turns must alternate user/assistant/user/assistant/...",
    });
  });

  test("messages are bounded and have no replaced tokens", () => {
    const source = "{{ raise_exception('No: ' + messages[0].content) }}";
    expect(refusal(source, CHATML, [user("<|im_end|>")]).message).toMatch(/No: <\|im_end\|>$/);
    expect(refusal(source, CHATML, [user("a".repeat(100_000))]).message.length).toBeLessThan(400);
  });

  test("a template that breaks is a template_error", () => {
    expect(refusal("{{ messages[0].content.split(1) }}", CHATML, [user("a")])).toMatchObject({
      code: "template_error",
      param: "messages",
    });
    expect(refusal("{{ range(1000000000) }}", CHATML, [user("a")]).message).toContain("limited");
  });

  test.each(["messages", "bos_token", "raise_exception", "range", "namespace", "true"])(
    "a client can't give the template another %s",
    (name) => {
      expect(refusal(PLAIN_CHATML, CHATML, [user("a")], { [name]: "x" })).toMatchObject({
        param: "chat_template_kwargs",
      });
    },
  );
});

describe("a template without end", () => {
  const loops = (body: string) =>
    ["i", "j", "k"].reduceRight((inner, name) => `{% for ${name} in range(3000) %}${inner}{% endfor %}`, body);

  test.each([
    ["of empty loops", loops("")],
    [
      "that loops for some messages alone",
      `{% if messages|length > 1 %}${loops("")}{% endif %}{{ messages[0].content }}`,
    ],
    [
      "that doubles a text",
      "{% set n = namespace(s='x') %}{% for i in range(60) %}{% set n.s = n.s + n.s %}{% endfor %}",
    ],
    [
      "that doubles a list",
      "{% set n = namespace(s=[1]) %}{% for i in range(60) %}{% set n.s = n.s + n.s %}{% endfor %}",
    ],
  ])("%s is not used", (_, source) => {
    const template = new ChatTemplate(source, { bos: "", eos: "", specialTokens: [] });
    expect(template.fallback).toBe(true);
    expect(template.warning).toContain("can't be used (it takes more than 50000 steps)");
  });

  test("refuses the requests for which it does not end", () => {
    const source = `{% if messages[0].content == 'zoo' %}${loops("")}{% endif %}{{ messages[0].content }}`;
    const template = new ChatTemplate(source, { bos: "", eos: "", specialTokens: [] });
    expect(template.fallback).toBe(false);
    const ask = (content: string) => template.render([{ role: "user", content }], {}, new Date(0));
    expect(() => ask("zoo")).toThrow(
      "The model's chat template fails on these messages: it takes more than 4000000 steps",
    );
    expect(ask("park").pieces).toEqual([{ text: "park", literal: false }]);
  });
});
