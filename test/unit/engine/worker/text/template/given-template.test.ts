import { expect, it } from "vitest";
import { ChatTemplate } from "../../../../../../engine/worker/text/template/chat-template.ts";
import { checkGivenTemplate } from "../../../../../../engine/worker/text/template/given-template.ts";

function check(text: string): void {
  const template = new ChatTemplate(text, { bos: "", eos: "", specialTokens: [] });
  checkGivenTemplate(template, { path: "own.jinja", text });
}

it("accepts a template that writes messages, or fails on the example", () => {
  expect(() => check("{% for message in messages %}{{ message.content }}{% endfor %}")).not.toThrow();
  expect(() => check("{{ raise_exception('a system message must come first') }}")).not.toThrow();
});

it.each([
  ["is not Jinja", "{{ messages", /^The chat template own\.jinja can't be used: .*line 1/],
  [
    "does not end",
    "{% for a in range(1000) %}{% for b in range(1000) %}{{ a }}{% endfor %}{% endfor %}",
    /^The chat template own\.jinja can't be used: /,
  ],
  [
    "writes no messages",
    '{"chat_template": "…"}',
    /^The chat template own\.jinja does not write the messages of a chat/,
  ],
])("refuses a text that %s", (_, text, message) => {
  expect(() => check(text)).toThrow(message);
});
