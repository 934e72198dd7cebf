import { describe, expect, test } from "vitest";
import { recognise, TOOL_FORMAT_NAMES } from "../../../../engine/tools/format-list.ts";
import { calls, read, readPieces, text } from "./reading.ts";

const PARIS = { name: "get_weather", arguments: '{"city": "Paris"}' };
const UTC = { name: "get_time", arguments: '{"zone": "UTC"}' };

/** The line of a template by which the format is recognised, and answers in the format with their results. */
const FAMILIES: Record<string, { template: string; answers: [string, unknown][]; malformed: string[] }> = {
  hermes: {
    template: "{{ '<tool_call>\\n{\"name\": ' + (call.function.name | tojson) }}",
    answers: [
      ['<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>', calls(PARIS)],
      [
        'I look.\n\n<tool_call>{"name":"get_weather","arguments":{"city": "Paris"}}</tool_call>\n<tool_call>\n' +
          '{"arguments": {"zone": "UTC"}, "name": "get_time"}\n</tool_call>\n',
        { ...calls(PARIS, UTC), text: "I look." },
      ],
      // Arguments as a string of JSON, no arguments, and an unknown name, which the client refuses.
      ['<tool_call>{"name": "get_weather", "arguments": "{\\"city\\": \\"Paris\\"}"}</tool_call>', calls(PARIS)],
      ['<tool_call>{"name": "no_such_tool"}</tool_call>', calls({ name: "no_such_tool", arguments: "{}" })],
      [
        '<tool_call>{"name": "get_weather", "arguments": {"city": "</tool_call> \\"é🌧\\""}}</tool_call> done',
        { ...calls({ name: "get_weather", arguments: '{"city": "</tool_call> \\"é🌧\\""}' }), text: "done" },
      ],
      // Ended by max_tokens, or broken after its beginning: the arguments are as the model wrote them.
      ['<tool_call>{"name": "get_weather", "arguments": {"ci', calls({ name: "get_weather", arguments: '{"ci' })],
      [
        '<tool_call>{"name": "get_weather", "arguments": {"city": Paris}}</tool_call>',
        calls({ name: "get_weather", arguments: '{"city": Paris}}' }),
      ],
      // A line break and a tab within strings are not JSON and are escaped; the rest of a string is unchanged.
      [
        '<tool_call>{"name": "get_weather", "arguments": {"city": "Pa\nris\t\\n", "days":\n2}}</tool_call>',
        calls({ name: "get_weather", arguments: '{"city": "Pa\\nris\\t\\n", "days":\n2}' }),
      ],
    ],
    malformed: [
      "<tool_call>get_weather</tool_call>",
      '<tool_call>{"name": 1}</tool_call> x',
      "a <tool_c",
      "<tool_call>",
    ],
  },
  llama: {
    template: '{{ "Respond in the format {\\"name\\": function name, \\"parameters\\": dictionary of argument name" }}',
    answers: [
      ['{"name": "get_weather", "parameters": {"city": "Paris"}}', calls(PARIS)],
      ['<|python_tag|>{"name": "get_weather", "parameters": {"city": "Paris"}}', calls(PARIS)],
      [
        '{"name": "get_weather", "parameters": {"city": "Paris"}}; {"name": "get_time", "parameters": {"zone": "UTC"}}',
        calls(PARIS, UTC),
      ],
      ['[{"name": "get_weather", "arguments": {"city": "Paris"}}]', calls(PARIS)],
      [
        'Look: <|python_tag|>{"name": "get_weather", "parameters": {"city": "Paris"}}',
        { ...calls(PARIS), text: "Look:" },
      ],
    ],
    malformed: ['{"name": "Ada", "parameters": {}}', '{"sentiment": "positive"}', "<|python_tag|>print(1)", "[1, 2]"],
  },
  pythonic: {
    template: "{{ 'in the format of [func_name1(params_name1=params_value1...)]' }}",
    answers: [
      ["[get_weather(city='Paris')]", calls(PARIS)],
      ['<|python_start|>[get_weather(city="Paris"), get_time(zone="UTC")]<|python_end|>', calls(PARIS, UTC)],
      [
        "[get_weather(city='Bad \"X\"\\n\\u00e9', days=3, exact=True, tags=['a', None], more={'k': (1, -2.5e3)})]",
        calls({
          name: "get_weather",
          arguments:
            '{"city": "Bad \\"X\\"\\né", "days": 3, "exact": true, "tags": ["a", null], "more": {"k": [1, -2.5e3]}}',
        }),
      ],
      ["[get_time()]", calls({ name: "get_time", arguments: "{}" })],
    ],
    malformed: ["[1] says so", "[Paris(x=1)]", "get_weather(city='Paris')", "[get_weather"],
  },
  mistral: {
    template: "{{ '[TOOL_CALLS] [' }}",
    answers: [
      ['[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Paris"}, "id": "abcdefghi"}]', calls(PARIS)],
      [
        '[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Paris"}}, {"name": "get_time", "arguments": {"zone": "UTC"}}]',
        calls(PARIS, UTC),
      ],
    ],
    malformed: ["[TOOL_CALLS] none", "[TOOL_CALLS] [1]"],
  },
  "mistral-args": {
    template: "{{ '[TOOL_CALLS]' + name + '[ARGS]' }}",
    answers: [
      ['[TOOL_CALLS]get_weather[ARGS]{"city": "Paris"}', calls(PARIS)],
      [
        'Well.[TOOL_CALLS]get_weather[CALL_ID]abcdefghi[ARGS]{"city": "Paris"}[TOOL_CALLS]get_time[ARGS]{"zone": "UTC"}',
        { ...calls({ ...PARIS, id: "abcdefghi" }, UTC), text: "Well." },
      ],
    ],
    malformed: ["[TOOL_CALLS]get_weather and more"],
  },
  deepseek: {
    template: "{{ '<｜tool▁calls▁begin｜>' + '\\n```json\\n' }}",
    answers: [
      [
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{"city": "Paris"}\n```<｜tool▁call▁end｜>\n' +
          '<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_time\n```json\n{"zone": "UTC"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
        calls(PARIS, UTC),
      ],
    ],
    malformed: ["<｜tool▁calls▁begin｜>nothing"],
  },
  "deepseek-v3.1": {
    template: "{{ '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>' }}",
    answers: [
      [
        'Yes.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Paris"}<｜tool▁call▁end｜>' +
          '<｜tool▁call▁begin｜>get_time<｜tool▁sep｜>{"zone": "UTC"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
        { ...calls(PARIS, UTC), text: "Yes." },
      ],
    ],
    malformed: ["<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather"],
  },
  "deepseek-v3.2": {
    template: "{%- set dsml_token = '｜DSML｜' -%}{{ '<' + dsml_token + 'function_calls>' }}",
    answers: [
      [
        'Yes.\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter name="city" string="true">12 "x"\n</｜DSML｜parameter>\n' +
          '<｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>\n<｜DSML｜parameter name="tags" string="false">["a"]</｜DSML｜parameter>\n</｜DSML｜invoke>\n' +
          '<｜DSML｜invoke name="get_time">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
        {
          ...calls(
            { name: "get_weather", arguments: '{"city": "12 \\"x\\"\\n", "days": 3, "tags": ["a"]}' },
            { name: "get_time", arguments: "{}" },
          ),
          text: "Yes.",
        },
      ],
    ],
    malformed: ["<｜DSML｜function_calls>none", "<｜DSML｜tool_calls>"],
  },
  "deepseek-v4": {
    template: "{%- set dsml_token = '｜DSML｜' -%}{{ '<' + dsml_token + 'tool_calls>' }}",
    answers: [
      [
        '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter name="city" string="true">Paris</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
        calls(PARIS),
      ],
    ],
    malformed: ['<｜DSML｜tool_calls><｜DSML｜invoke name="">'],
  },
  functiongemma: {
    template: "{{ '<start_function_call>call:' }}",
    answers: [
      [
        '<start_function_call>call:get_weather{city:<escape>Paris, {"a"}<escape>,days:2,exact:true,tags:[<escape>x<escape>]}<end_function_call><start_function_response>response:',
        {
          ...calls({
            name: "get_weather",
            arguments: '{"city": "Paris, {\\"a\\"}", "days": 2, "exact": true, "tags": ["x"]}',
          }),
          ended: true,
        },
      ],
    ],
    malformed: ["<start_function_call>call:get_weather"],
  },
  gemma4: {
    template: "{{ '<|tool_call>call:' }}",
    answers: [
      ['<|tool_call>call:get_weather{city:<|"|>Paris<|"|>}<tool_call|>', calls(PARIS)],
      // Reasoning that is closed twice, and reasoning behind the text.
      ["<channel|>Hello.<channel|>", text("Hello.")],
      ["Hello.<|channel>thought\nHm.<channel|>", { ...text("Hello."), thought: "Hm." }],
      ["<|channel><|channel>thought\n<channel|>Hello.", text("Hello.")],
    ],
    malformed: ["<|tool_call>who?"],
  },
  "tool-code": {
    template: "{{ 'Write calls in ```tool_code fences' }}",
    answers: [['```tool_code\nprint(get_weather(city="Paris"))\nget_time(zone="UTC")\n```', calls(PARIS, UTC)]],
    malformed: ["```tool_code\nx = 1\n```"],
  },
  functionary: {
    template: "{{ '<function=' + name + '>' }}",
    answers: [
      [
        'So: <function=get_weather>{"city": "Paris"}</function><function=get_time>{"zone": "UTC"}</function>',
        { ...calls(PARIS, UTC), text: "So:" },
      ],
    ],
    malformed: ["<function=>x", "<function=get_weather"],
  },
  "functionary-v3.2": {
    template: "{{ '>>>all\\n' + content }}",
    answers: [
      ['get_weather\n{"city": "Paris"}', calls(PARIS)],
      [
        'all\nI look.\n>>>get_weather\n{"city": "Paris"}>>>get_time\n{"zone": "UTC"}',
        { ...calls(PARIS, UTC), text: "I look." },
      ],
      ["all\nHello", text("Hello")],
    ],
    malformed: ["Hello there", "gettysburg\nx"],
  },
  glm: {
    template: "{{ '<tool_call>' + name + '<arg_key>' }}",
    answers: [
      [
        '<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris "x"</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n' +
          '<arg_key>exact</arg_key><arg_value>True</arg_value><arg_key>tags</arg_key><arg_value>["a"]</arg_value>\n</tool_call>',
        calls({ name: "get_weather", arguments: '{"city": "Paris \\"x\\"", "days": 3, "exact": true, "tags": ["a"]}' }),
      ],
      // A string that looks like a number stays a string.
      [
        "<tool_call>get_time<arg_key>zone</arg_key><arg_value>12</arg_value></tool_call>",
        calls({ name: "get_time", arguments: '{"zone": "12"}' }),
      ],
      ["<tool_call>get_time</tool_call>", calls({ name: "get_time", arguments: "{}" })],
    ],
    malformed: ["<tool_call>{}</tool_call>"],
  },
  "qwen-coder": {
    template: "{{ '<tool_call>\\n<function=' + name + '>\\n<parameter=' }}",
    answers: [
      [
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nPa\nris\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
        calls({ name: "get_weather", arguments: '{"city": "Pa\\nris", "days": 3}' }),
      ],
      // Ended by max_tokens within the name of an argument.
      ["<tool_call>\n<function=get_weather>\n<parameter=ci", calls({ name: "get_weather", arguments: "" })],
    ],
    malformed: ["<tool_call>\nget_weather\n</tool_call>"],
  },
  cohere: {
    template: "{{ '<|START_ACTION|>[' }}",
    answers: [
      [
        '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Paris"}},\n' +
          '    {"tool_call_id": "1", "tool_name": "get_time", "parameters": {"zone": "UTC"}}\n]<|END_ACTION|>',
        calls({ ...PARIS, id: "0" }, { ...UTC, id: "1" }),
      ],
      ["<|START_RESPONSE|>Hello<|END_RESPONSE|>", text("Hello")],
      ["<|START_TEXT|>Hello<|END_TEXT|>", text("Hello")],
      // Ended by max_tokens before the arguments.
      [
        '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "get_weather", ',
        calls({ name: "get_weather", id: "0", arguments: "" }),
      ],
    ],
    malformed: ["<|START_ACTION|>none"],
  },
  "command-r": {
    template: "{{ '\\nAction:\\n```json\\n[' }}",
    answers: [
      [
        'Action:\n```json\n[\n    {"tool_name": "get_weather", "parameters": {"city": "Paris"}},\n    {"tool_name": "get_time", "parameters": {"zone": "UTC"}}\n]```',
        calls(PARIS, UTC),
      ],
    ],
    malformed: ["Action: run\nAction:\n```json\n{}", "Action:"],
  },
  apertus: {
    template: "{{ '<|tools_prefix|>[' }}",
    answers: [
      [
        'Well.<|tools_prefix|>[{"get_weather": {"city": "Paris"}}, {"get_time": {"zone": "UTC"}}]<|tools_suffix|>',
        { ...calls(PARIS, UTC), text: "Well." },
      ],
    ],
    malformed: ["<|tools_prefix|>[1]", "<|tools_prefix|>"],
  },
  nemotron: {
    template: "{{ '<TOOLCALL>[' }}",
    answers: [
      [
        '<TOOLCALL>[{"name": "get_weather", "arguments": {"city": "Paris"}}, {"name": "get_time", "arguments": {"zone": "UTC"}}]</TOOLCALL>\n',
        calls(PARIS, UTC),
      ],
    ],
    malformed: ["<TOOLCALL>get_weather</TOOLCALL>"],
  },
  apriel: {
    template: "{{ '<tool_calls>[' }}",
    answers: [
      ['<tool_calls>[{"name": "get_weather", "arguments": {"city": "Paris"}, "id": "c1"}]</tool_calls>', calls(PARIS)],
    ],
    malformed: ["<tool_calls>[]</tool_calls>"],
  },
  "minimax-m1": {
    template: "{{ 'respond with <tool_calls></tool_calls> tags' }}",
    answers: [
      [
        'So:\n<tool_calls>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n{"name": "get_time", "arguments": {"zone": "UTC"}}\n</tool_calls>',
        { ...calls(PARIS, UTC), text: "So:" },
      ],
    ],
    malformed: ["<tool_calls>\n</tool_calls>"],
  },
  firefunction: {
    template: "{{ ' functools[' }}",
    answers: [
      [' functools[{"name": "get_weather", "arguments": {"city": "Paris"}}]', calls(PARIS)],
      [
        'functools[{"name": "get_weather", "arguments": {"city": "Paris"}}, {"name": "get_time", "arguments": {"zone": "UTC"}}]',
        calls(PARIS, UTC),
      ],
    ],
    malformed: ["import functools", "functools[0]"],
  },
  gigachat3: {
    template: "{{ {'role': 'function call'} }}",
    answers: [
      [
        'Hi.<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "get_weather", "arguments": {"city": "Paris"}}<|message_sep|>',
        { ...calls(PARIS), text: "Hi.<|message_sep|>" },
      ],
    ],
    malformed: ["<|message_sep|>\n\nfunction call<|role_sep|>\nnone"],
  },
  "gigachat3.1": {
    template: "{{ '<|function_call|>' }}",
    answers: [['<|function_call|>{"name": "get_weather", "arguments": {"city": "Paris"}}', calls(PARIS)]],
    malformed: ["<|function_call|>none"],
  },
  seed: {
    template: "{{ '<seed:tool_call>\\n<function=' + name + '>\\n<parameter=' }}",
    answers: [
      [
        "<seed:tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>3</parameter>\n</function>\n</seed:tool_call>",
        calls({ name: "get_weather", arguments: '{"city": "\\nParis\\n", "days": 3}' }),
      ],
    ],
    malformed: ["<seed:tool_call>none</seed:tool_call>"],
  },
  "minimax-m2": {
    template: "{%- set begin = '<minimax:tool_call>' -%}",
    answers: [
      [
        '<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Paris</parameter>\n<parameter name="days">3</parameter>\n</invoke>\n' +
          '<invoke name="get_time">\n</invoke>\n</minimax:tool_call>',
        calls(
          { name: "get_weather", arguments: '{"city": "Paris", "days": 3}' },
          { name: "get_time", arguments: "{}" },
        ),
      ],
    ],
    malformed: ["<minimax:tool_call>none"],
  },
  "minimax-m3": {
    template: "{%- set ns_token = ']<]minimax[>[' -%}",
    answers: [
      [
        ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>Paris]<]minimax[>[</city>' +
          "]<]minimax[>[<days>3]<]minimax[>[</days>]<]minimax[>[<tags>]<]minimax[>[<item>a]<]minimax[>[</item>" +
          "]<]minimax[>[<item>b]<]minimax[>[</item>]<]minimax[>[</tags>]<]minimax[>[<more>]<]minimax[>[<k>" +
          "]<]minimax[>[<n>1]<]minimax[>[</n>]<]minimax[>[</k>]<]minimax[>[</more>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
        calls({
          name: "get_weather",
          arguments: '{"city": "Paris", "days": 3, "tags": ["a", "b"], "more": {"k": {"n": 1}}}',
        }),
      ],
      [
        ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="get_weather">]<]minimax[>[<tags>]<]minimax[>[</tags>]<]minimax[>[</invoke>',
        calls({ name: "get_weather", arguments: '{"tags": []}' }),
      ],
    ],
    malformed: ["]<]minimax[>[<tool_call>none"],
  },
  minicpm5: {
    template: "{{ '<function name=\"' + name + '\"><param name=\"' }}",
    answers: [
      [
        '<function name="get_weather"><param name="city"><![CDATA[<a> & "b" </param>]]></param><param name="days">3</param></function>\n' +
          '<function name="get_time"><param name="zone">UTC</param></function>',
        calls({ name: "get_weather", arguments: '{"city": "<a> & \\"b\\" </param>", "days": 3}' }, UTC),
      ],
    ],
    malformed: ['<function name="">', "<function name=f>"],
  },
  "kimi-k3": {
    template: "{{ '<|open|>' + tag }}{{ open_tag('argument', []) }}",
    answers: [
      [
        "<|open|>response<|sep|>On it.<|close|>response<|sep|><|open|>tools<|sep|>" +
          '<|open|>call tool="get_weather" index="1"<|sep|><|open|>argument key="city" type="string"<|sep|>12<|close|>argument<|sep|>' +
          '<|open|>argument key="days" type="number"<|sep|>3<|close|>argument<|sep|><|close|>call<|sep|>' +
          '<|open|>call tool="get_time" index="2"<|sep|><|open|>json type="object"<|sep|>{"zone": "UTC"}<|close|>json<|sep|><|close|>call<|sep|>' +
          "<|close|>tools<|sep|><|close|>message<|sep|>",
        { ...calls({ name: "get_weather", arguments: '{"city": "12", "days": 3}' }, UTC), text: "On it." },
      ],
      ["Hello<|close|>response<|sep|><|close|>message<|sep|>", text("Hello")],
    ],
    malformed: ['<|open|>call tool="'],
  },
  muse: {
    template: "{{ '<atem:function_calls>' }}",
    answers: [
      [
        " to=self<|message|>Hm.<|eom|><|start|>assistant to=user<|message|>I look.<|eom|><|start|>assistant to=get_weather<|message|>" +
          '<atem:function_calls>\n<atem:invoke name="get_weather">\n<atem:parameter name="city">Paris</atem:parameter>\n</atem:invoke>\n</atem:function_calls>' +
          '<|eom|><|start|>assistant to=get_time<|message|><atem:function_calls>\n<atem:invoke name="get_time">\n<atem:parameter name="zone">UTC</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eot|>',
        { ...calls(PARIS, UTC), thought: "Hm.", text: "I look." },
      ],
      [" to=user<|message|>Hello<|eot|>", text("Hello")],
      // A call in the text is an example, and one in the reasoning is reasoning.
      [
        ' to=user<|message|><atem:function_calls>\n<atem:invoke name="f">',
        text('<atem:function_calls>\n<atem:invoke name="f">'),
      ],
      [
        ' to=self<|message|><atem:function_calls>\n<atem:invoke name="f">',
        { ...text(""), thought: '<atem:function_calls>\n<atem:invoke name="f">' },
      ],
    ],
    malformed: ["No recipient at all", '<atem:function_calls>\n<atem:invoke name="f">'],
  },
  kimi: {
    template: "{{ '<|tool_calls_section_begin|>' }}",
    answers: [
      [
        '<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Paris"}<|tool_call_end|>' +
          '<|tool_call_begin|>functions.get_time:1<|tool_call_argument_begin|>{"zone": "UTC"}<|tool_call_end|><|tool_calls_section_end|>',
        calls({ ...PARIS, id: "functions.get_weather:0" }, { ...UTC, id: "functions.get_time:1" }),
      ],
      // Without the marks of the section and the ends of the calls.
      [
        'I look. <|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Paris"}' +
          '<|tool_call_begin|>functions.get_time:1<|tool_call_argument_begin|>{"zone": "UTC"}<|tool_calls_section_end|> done',
        {
          ...calls({ ...PARIS, id: "functions.get_weather:0" }, { ...UTC, id: "functions.get_time:1" }),
          text: "I look.done",
        },
      ],
    ],
    malformed: [
      "<|tool_calls_section_begin|>what",
      "<|tool_call_begin|>f",
      "<|tool_calls_section_begin|> <|tool_call_begin|>f",
    ],
  },
  harmony: {
    template: "{{ '<|start|>assistant<|channel|>final<|message|>' }}",
    answers: [
      [
        '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Paris"}<|call|>',
        { ...calls(PARIS), thought: "Hm." },
      ],
      [
        '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>{"city": "Paris"}',
        { ...calls(PARIS), thought: "Hm." },
      ],
      [
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>",
        { ...text("Hello"), thought: "Hm." },
      ],
      // Habits of the model: an omitted prefix, a tool that was not offered, and a header with two channels.
      ['<|channel|>commentary to=get_weather <|constrain|>json<|message|>{"city": "Paris"}<|call|>', calls(PARIS)],
      ["<|channel|>commentary to=python code<|message|>print(1)<|call|>", { ...text(""), thought: "print(1)" }],
      [
        "<|channel|>commentary to=assistant<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary<|message|>I look.<|end|>",
        { ...text("I look."), thought: "Hm." },
      ],
    ],
    malformed: ["No channel at all", '{"city": "Paris"}'],
  },
};

test("every format has examples here", () => {
  expect(Object.keys(FAMILIES).sort()).toEqual(TOOL_FORMAT_NAMES);
});

describe.each(Object.entries(FAMILIES))("%s", (name, { template, answers, malformed }) => {
  test("is recognised by its template", () => {
    expect(recognise(template)?.name).toBe(name);
  });

  test.each(answers)("%s", (answer, expected) => {
    expect(read(name, answer)).toEqual(expected);
  });

  test.each(malformed)("%s is text", (answer) => {
    expect(read(name, answer)).toEqual(text(answer));
  });

  test("keeps the white space of an answer without calls", () => {
    const answer = name === "functionary-v3.2" ? "all\nHi, \n\n you. \n" : "Hi, \n\n you. \n";
    expect(read(name, answer)).toEqual(text("Hi, \n\n you. \n"));
  });
});

test("a template with a list of tools and no call is recognised by the list", () => {
  for (const list of ["'List of tools: <|tool_list_start|>['", '"List of tools: ["']) {
    expect(recognise(`{{ ${list} + (tools | tojson) }}`)?.name).toBe("pythonic");
  }
});

test("arguments are passed on as they arrive", () => {
  const begin = '<tool_call>{"name": "get_weather", "arguments": {"city": "Par';
  expect(readPieces("hermes", [begin])).toEqual(calls({ name: "get_weather", arguments: '{"city": "Par' }));
});
