import { describe, expect, test } from "vitest";
import { JinjaTemplate } from "../../../../../../../engine/worker/text/template/jinja-template.ts";
import { CASES, VARIABLES } from "./cases.ts";

function render(source: string): string {
  return new JinjaTemplate(source).render(VARIABLES, new Date(0));
}

describe.each(Object.entries(CASES))("%s are those of Python", (_, cases) => {
  test.each(cases)("%s", (source, expected) => {
    expect(render(source)).toBe(expected);
  });
});

describe("an error says what is wrong, and in which line", () => {
  test.each([
    ["a\n\n{{ list.pop(9) }}", /^pop\(\) finds no such item \(line 3\)$/],
    ["{# one\ntwo #}\n{%- set x = 1 %}\n{{ '}}\n' ~ x | bold }}", /^no filter is named 'bold' \(line 5\)$/],
    [
      "{% for x in list %}\n{{ x + 'a' }}{% endfor %}",
      /^'\+' is not possible between an integer and a text \(line 2\)$/,
    ],
    ["{{ 'a' + none }}", /^'\+' is not possible between a text and none \(line 1\)$/],
    ["\n{{ unknown_function(1) }}", /^'unknown_function' is an undefined value, not a function \(line 2\)$/],
    ["{{ 1 < 'a' }}", /^an integer and a text have no order$/],
    [
      "{% if a or b and not c %}\n{% endif %}\n{{ 1 if list else 2 }}\n{{ list | bold }}",
      /^no filter is named 'bold' \(line 4\)$/,
    ],
    ["\n\n{{ list is strange }}", /^no test is named 'strange' \(line 3\)$/],
    ["{{ empty | length }}", /^none has no length \(line 1\)$/],
    ["{% for x in 5 %}{% endfor %}", /^an integer is not iterable \(line 1\)$/],
    ["{{ 'a' * 2000000 }}", /^'\*' makes more than 1000000 items$/],
    [
      "{% set x = [1, 2] %}{% for i in range(40) %}{% set _ = x.extend(x) %}{% endfor %}",
      /^a list of more than 1000000 items \(line 1\)$/,
    ],
    ["{{ '%2000000d' % 1 }}", /^a field of more than 1000000 characters$/],
    ["{{ 'a' | indent(5000) }}", /^a width of more than 1000 \(line 1\)$/],
  ])("%j", (source, message) => {
    expect(() => render(source)).toThrow(message);
  });

  test.each([
    ["a\n{{ b }}\n{% if c %}", /\(line 3\)$/],
    ["\n\n{% unknown %}", /^Unknown statement type: unknown \(line 3\)$/],
    ["{{ a }}\n{{ 'b }}", /\(line 2\)$/],
  ])("a source that is not Jinja: %j", (source, message) => {
    expect(() => new JinjaTemplate(source)).toThrow(message);
  });
});

test("white space of any length is stripped in linear time", () => {
  const variables = { text: `a${" ".repeat(2_000_000)}b` };
  const source = "{{ (text.rstrip() ~ text.split()[1] ~ text | trim) | length }}";
  expect(new JinjaTemplate(source).render(variables, new Date(0))).toBe(String(2 * 2_000_002 + 1));
});
