import { describe, expect, test } from "vitest";
import type { ChatMessage, FunctionTool } from "../../../../../../engine/protocol/prompt.ts";
import { ChatTemplate } from "../../../../../../engine/worker/text/template/chat-template.ts";
import { CHATML } from "./templates.ts";

const NOW = new Date(2026, 1, 3, 4, 5);
const USER: ChatMessage = { role: "user", content: "Hi" };

function prompt(source: string, messages: ChatMessage[], tools: FunctionTool[] = [], variables = {}): string {
  const { pieces } = new ChatTemplate(source, CHATML).render(messages, variables, NOW, tools);
  return pieces.map(({ text }) => text).join("");
}

const CONTENTS = "{% for message in messages %}{{ message.role }}:{{ message.content }};{% endfor %}";

describe("today's date", () => {
  test.each([
    ["{{ date_string }}", {}, "03 Feb 2026"],
    ["{{ datetime }}", {}, "Feb 03 2026"],
    ["{{ strftime_now('%d %B %Y, %H:%M') }}", {}, "03 February 2026, 04:05"],
    [
      "{% if not date_string is defined %}{% set date_string = '2024' %}{% endif %}{{ date_string }}",
      {},
      "03 Feb 2026",
    ],
    ["{{ date_string }}", { date_string: "01 May 1990" }, "01 May 1990"],
  ])("%s with %j is %s", (date, variables, expected) => {
    expect(prompt(`${date}|${CONTENTS}`, [USER], [], variables)).toBe(`${expected}|user:Hi;`);
  });
});

describe("a tool", () => {
  const tool = (parameters?: Record<string, unknown>): FunctionTool => {
    return { type: "function", function: { name: "f", ...(parameters && { parameters }) } };
  };
  const LISTED = `{% for tool in tools or [] %}{{ tool.function | tojson }}{% endfor %}${CONTENTS}`;
  const LOOPED = `{% for tool in tools or [] %}{{ tool.function.name }} {{ tool.function.description }}
{%- if tool.function.parameters.type != 'object' %}{{ raise_exception('no object') }}{% endif %}
{%- for name, schema in tool.function.parameters.properties.items() %}{{ name }}{% endfor %}{% endfor %}${CONTENTS}`;

  test.each([
    ["without parameters", tool(), '{"name": "f", "description": "", "parameters": {}}'],
    [
      "of parameters in any order",
      tool({ required: [], type: "object" }),
      '"parameters": {"required": [], "type": "object"}',
    ],
  ])("%s is given as it is", (_, given, expected) => {
    expect(prompt(LISTED, [USER], [given])).toContain(expected);
  });

  test("has a type and properties where the template fails without them", () => {
    expect(prompt(LOOPED, [USER], [tool()])).toBe("f user:Hi;");
    expect(prompt(LOOPED, [USER], [tool({ properties: { a: {} } })])).toBe("f auser:Hi;");
  });
});

describe("the role developer", () => {
  const RULE: ChatMessage = { role: "developer", content: "Rule" };

  test("stays where the template renders it", () => {
    expect(prompt(`{# developer #}${CONTENTS}`, [RULE, USER])).toBe("developer:Rule;user:Hi;");
  });

  test("is system where the template only mentions it", () => {
    const refusing = `{% for m in messages %}{% if m.role == 'developer' %}{{ raise_exception('no') }}{% endif %}{% endfor %}`;
    expect(prompt(refusing + CONTENTS, [RULE, USER])).toBe("system:Rule;user:Hi;");
  });
});

describe("reasoning of an earlier answer", () => {
  const ANSWER: ChatMessage = { role: "assistant", content: "4", reasoning_content: "2 + 2" };
  const PARTS = `{% for message in messages %}{% if message.content is string %}{{ message.content }};{% else %}
{%- for block in message.content %}{% if block['type'] == 'thinking' %}[THINK]{{ block['thinking'] }}[/THINK]
{%- else %}{{ block.text }};{% endif %}{% endfor %}{% endif %}{% endfor %}`;

  test("is a part of the content where the template takes parts", () => {
    expect(prompt(PARTS, [USER, ANSWER, USER])).toBe("Hi;[THINK]2 + 2[/THINK]4;Hi;");
    expect(prompt(PARTS, [USER, { ...ANSWER, content: null }, USER])).toBe("Hi;[THINK]2 + 2[/THINK]Hi;");
  });

  test("is left out where the template prints any content", () => {
    expect(prompt(`{# .thinking #}${CONTENTS}`, [USER, ANSWER])).toBe("user:Hi;assistant:4;");
  });
});

test("a message without content has an empty text, not the text of none", () => {
  expect(prompt(CONTENTS, [USER, { role: "assistant", content: null }])).toBe("user:Hi;assistant:;");
});

describe("a system message behind others", () => {
  const messages: ChatMessage[] = [
    { role: "system", content: "rule" },
    USER,
    { role: "system", content: "later" },
    { role: "assistant", content: "Hello" },
    { role: "system", content: "last" },
    USER,
  ];

  test("stays where it is, if the template renders it", () => {
    expect(prompt(CONTENTS, messages)).toBe("system:rule;user:Hi;system:later;assistant:Hello;system:last;user:Hi;");
  });

  test("is part of the user's message beside it, if the template refuses it", () => {
    const source = `{% for message in messages %}{% if message.role == 'system' and not loop.first %}
{{- raise_exception('only first') }}{% endif %}{% endfor %}${CONTENTS}`;
    expect(prompt(source, messages)).toBe("system:rule;user:Hi\n\nlater;assistant:Hello;user:last\n\nHi;");
  });
});

describe("the beginning of an answer", () => {
  const continued = (source: string, variables = {}) => {
    const template = new ChatTemplate(source, CHATML);
    const { pieces } = template.continued(template.render([USER], variables, NOW), "<|im_end|>Once");
    return pieces.at(-1);
  };

  test("follows the prompt as literal text", () => {
    expect(continued(`${CONTENTS}assistant:`)).toEqual({ text: "<|im_end|>Once", literal: true });
  });

  test("is refused behind an open reasoning tag alone", () => {
    const source = `${CONTENTS}{% if enable_thinking %}<think>{% endif %}`;
    expect(() => continued(source, { enable_thinking: true })).toThrow("cannot continue an answer");
    expect(continued(source, { enable_thinking: false })).toMatchObject({ literal: true });
  });
});
