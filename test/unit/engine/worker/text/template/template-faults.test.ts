import { expect, test } from "vitest";
import { ChatTemplate } from "../../../../../../engine/worker/text/template/chat-template.ts";
import { CHATML } from "./templates.ts";

const warnings = (source: string) => new ChatTemplate(source, CHATML).warnings;

const MESSAGES = "{% for message in messages %}\n{{ message.role }}:{{ message.content }};\n";
const CALLS = `{%- for call in message.tool_calls or [] %}
<tool_call>{{ call.function | tojson }}</tool_call>
{%- endfor %}`;
const END = "{% endfor %}";

test.each([
  [
    "a question",
    "{{ messages | bold }}",
    /fails on a question, so that chats are refused \(no filter is named 'bold' \(line 1\)\)/,
  ],
  [
    "a question that it refuses by itself",
    "{{ raise_exception('no chats') }}",
    /fails on a question, so that chats are refused \(no chats\)/,
  ],
  [
    "a system message",
    `${MESSAGES}{% if message.role == 'system' %}\n{{ message.content.shout() }}{% endif %}${END}`,
    /fails on a system message, which is given as a part of the question \(.*\(line 4\)\)/,
  ],
  [
    "tools",
    `{% for tool in tools or [] %}{{ tool.function.name }}{{ tool | bold }}{% endfor %}${MESSAGES}${END}`,
    /can't be used with tools: it fails when it renders tools \(no filter is named 'bold' \(line 1\)\)/,
  ],
  [
    "calls",
    `${MESSAGES}${CALLS}\n{% if message.tool_calls %}{{ message.tool_calls | bold }}{% endif %}${END}`,
    /can't be used with tools: it fails when it renders tool calls \(no filter is named 'bold' \(line \d\)\)/,
  ],
  [
    "two calls of a message",
    `${MESSAGES}${CALLS}{% if message.tool_calls and message.tool_calls | length > 1 %}{{ 1 / 0 }}{% endif %}${END}`,
    /fails on two calls in a message, so that each has a message of its own \(division by zero/,
  ],
])("an error on %s is a warning", (_, source, warning) => {
  expect(warnings(source).join("\n")).toMatch(warning);
});

test.each([
  ["knows no tools", MESSAGES + END],
  ["knows no empty content", `{% for message in messages %}{{ message.role + message.content }}{% endfor %}`],
  [
    "refuses by itself",
    `${MESSAGES}{% if message.role == 'system' or message.tool_calls %}{{ raise_exception('no') }}{% endif %}${END}`,
  ],
  [
    "asks for a system message",
    `{% if messages[0].role != 'system' %}{{ raise_exception('no') }}{% endif %}${MESSAGES}${END}`,
  ],
  ["takes calls", MESSAGES + CALLS + END],
])("a template that %s gives no warning", (_, source) => {
  expect(warnings(source)).toEqual([]);
});
