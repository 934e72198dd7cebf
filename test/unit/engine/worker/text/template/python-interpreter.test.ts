import { expect, test } from "vitest";
import { JinjaTemplate } from "../../../../../../engine/worker/text/template/jinja-template.ts";

const VALUES = {
  object: { type: "function", name: "it's", list: [1, 2.5, true, null], text: "a\nb" },
  list: [3, 1, 2],
};

test.each([
  ["{{ object | string }}", `{'type': 'function', 'name': "it's", 'list': [1, 2.5, True, None], 'text': 'a\\nb'}`],
  ["{{ list | string }} {{ 'x' | string }}", "[3, 1, 2] x"],
  ["[{{ missing | upper }}{{ object.missing | trim }}{{ missing | string }}]", "[]"],
  ["{{ list | min }} {{ list | max }} {{ [5, list | length] | min }}", "1 3 3"],
  [
    "{%- set ids = [] -%}{%- set _ = ids.append('a') -%}{%- set _ = ids.append('b') -%}{{ ids.pop(0) }}{{ ids | join }}",
    "ab",
  ],
  ["{%- set ids = ['a', 'b'] -%}{{ ids.pop() }}{{ ids | length }}", "b1"],
  ["{{ '<x{}>{}'.format(':y', 1) }}", "<x:y>1"],
  [
    "{%- set gears = {512: 'b', 16: 'a', 1024: 'c'} -%}{%- for k, v in gears | dictsort -%}{{ k + 1 }}{{ v }} {% endfor -%}{{ gears[16] }}",
    "17a 513b 1025c a",
  ],
  ["{{ object.list[0] }}{{ object['name'] }}{{ list[-1] }}", "1it's2"],
])("%s", (source, expected) => {
  expect(new JinjaTemplate(source).render(VALUES, new Date(0))).toBe(expected);
});

test("a list without the item refuses to give it", () => {
  expect(() => new JinjaTemplate("{{ [].pop() }}").render({}, new Date(0))).toThrow("pop()");
});
