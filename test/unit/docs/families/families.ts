/** The form of one family's prompts and answers, as small as shows its tool calls and thoughts. */
export interface Family {
  names: string;
  /** `general.architecture` in the GGUF files. */
  architectures: readonly string[];
  /** A chat template in this form, written for the test. */
  template: string;
  /** The beginning of an answer that thinks THOUGHT; absent for models that do not. */
  thought?: string;
  /** An answer, or the rest of one, that calls TOOL with CITY; absent where the template takes no tools. */
  call?: string;
}

export const THOUGHT = "Is it Oslo?";
export const TOOL = "get_weather";
export const CITY = "Oslo";

interface Form {
  /** The beginning and the end of a turn, with the role in ROLE. */
  turn?: readonly [string, string];
  /** Before the answer. */
  opening?: string;
  /** Jinja of a call by its `name` and `args`; absent for templates that take no tools. */
  call?: string;
  /** Tags of thoughts in earlier turns. */
  thoughts?: readonly [string, string];
  /** Text of the instructions for tools. */
  instructions?: string;
}

const JSON_CALL = `{"name": "{{ name }}", "arguments": {{ args | tojson }}}`;
const HERMES = `<tool_call>\n${JSON_CALL}\n</tool_call>`;
const PARAMETERS =
  "{% for key, value in args.items() %}<parameter=KEY>\n{{ value }}\n</parameter>\n{% endfor %}".replace(
    "KEY",
    "{{ key }}",
  );
const QWEN_CODER = `<tool_call>\n<function={{ name }}>\n${PARAMETERS}</function>\n</tool_call>`;
const THINK = ["<think>", "</think>"] as const;

function template({
  turn = ["<|im_start|>ROLE\n", "<|im_end|>\n"],
  opening,
  call,
  thoughts,
  instructions,
}: Form): string {
  const [begin, end] = turn;
  const beginOf = (role: string) => begin.replace("ROLE", role);
  const thought =
    thoughts === undefined
      ? ""
      : `{% if m.reasoning_content %}${thoughts[0]}{{ m.reasoning_content }}${thoughts[1]}{% endif %}`;
  const calls =
    call === undefined
      ? ""
      : `{% for c in m.tool_calls or [] %}{% set name = c.function.name %}{% set args = c.function.arguments %}${call}{% endfor %}`;
  return [
    call === undefined
      ? ""
      : `{% if tools %}${instructions ?? "Tools:"}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{% endif %}`,
    `{% for m in messages %}${beginOf("{{ m.role }}")}${thought}{{ m.content or '' }}${calls}${end}{% endfor %}`,
    `{% if add_generation_prompt %}${opening ?? beginOf("assistant")}{% endif %}`,
  ].join("");
}

const QWEN_CALL = `<tool_call>\n<function=${TOOL}>\n<parameter=city>\n${CITY}\n</parameter>\n</function>\n</tool_call>`;
const HERMES_CALL = `<tool_call>\n{"name": "${TOOL}", "arguments": {"city": "${CITY}"}}\n</tool_call>`;
const THINKING = `<think>\n${THOUGHT}</think>\n\n`;

/** The families in README.md. The memory of each is that of its architectures in llama.cpp. */
export const FAMILIES: readonly Family[] = [
  {
    names: "Llama 3.1 to 3.3",
    architectures: ["llama"],
    template: template({
      turn: ["<|start_header_id|>ROLE<|end_header_id|>\n\n", "<|eot_id|>"],
      call: `{"name": "{{ name }}", "parameters": {{ args | tojson }}}`,
    }),
    call: `{"name": "${TOOL}", "parameters": {"city": "${CITY}"}}`,
  },
  {
    names: "Qwen 2.5",
    architectures: ["qwen2"],
    template: template({ call: HERMES }),
    call: HERMES_CALL,
  },
  {
    names: "Qwen 3",
    architectures: ["qwen3", "qwen3moe"],
    template: template({ call: HERMES, thoughts: THINK }),
    thought: THINKING,
    call: HERMES_CALL,
  },
  {
    names: "Qwen 3.5, Nemotron 3",
    architectures: ["qwen35", "qwen35moe", "nemotron_h_moe"],
    template: template({ call: QWEN_CODER, thoughts: THINK, opening: "<|im_start|>assistant\n<think>\n" }),
    thought: `${THOUGHT}\n</think>\n\n`,
    call: QWEN_CALL,
  },
  {
    names: "Magistral, Ministral 3",
    architectures: ["llama", "mistral3"],
    template: template({
      turn: ["[INST]ROLE: ", "[/INST]"],
      opening: "",
      call: "[TOOL_CALLS]{{ name }}[ARGS]{{ args | tojson }}",
      thoughts: ["[THINK]", "[/THINK]"],
    }),
    thought: `[THINK]${THOUGHT}[/THINK]`,
    call: `[TOOL_CALLS]${TOOL}[ARGS]{"city": "${CITY}"}`,
  },
  {
    names: "Gemma 3",
    architectures: ["gemma3"],
    template: template({ turn: ["<start_of_turn>ROLE\n", "<end_of_turn>\n"] }),
    call: HERMES_CALL,
  },
  {
    names: "Gemma 4",
    architectures: ["gemma4"],
    template: template({
      turn: ["<|turn>ROLE\n", "<turn|>\n"],
      call: `<|tool_call>call:{{ name }}{{ '{' }}{% for key, value in args.items() %}{{ key }}:<|"|>{{ value }}<|"|>{% endfor %}{{ '}' }}<tool_call|>`,
      thoughts: ["<|channel>thought\n", "<channel|>"],
    }),
    thought: `<|channel>thought\n${THOUGHT}<channel|>`,
    call: `<|tool_call>call:${TOOL}{city:<|"|>${CITY}<|"|>}<tool_call|>`,
  },
  {
    names: "gpt-oss",
    architectures: ["gpt-oss"],
    template: template({
      turn: ["<|start|>ROLE", "<|end|>"],
      call: "<|channel|>commentary to=functions.{{ name }}<|message|>{{ args | tojson }}<|call|>",
    }),
    thought: `<|channel|>analysis<|message|>${THOUGHT}<|end|><|start|>assistant`,
    call: `<|channel|>commentary to=functions.${TOOL} <|constrain|>json<|message|>{"city": "${CITY}"}<|call|>`,
  },
  {
    names: "DeepSeek V3.1",
    architectures: ["deepseek2"],
    template: template({
      turn: ["<｜ROLE｜>", ""],
      call: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{{ name }}<｜tool▁sep｜>{{ args | tojson }}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
      thoughts: THINK,
    }),
    thought: `<think>${THOUGHT}</think>`,
    call: `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>${TOOL}<｜tool▁sep｜>{"city": "${CITY}"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
  },
  {
    names: "GLM 4.5 to 4.7",
    architectures: ["glm4moe"],
    template: template({
      turn: ["<|ROLE|>\n", ""],
      call: "<tool_call>{{ name }}\n{% for key, value in args.items() %}<arg_key>{{ key }}</arg_key>\n<arg_value>{{ value }}</arg_value>\n{% endfor %}</tool_call>",
      thoughts: THINK,
    }),
    thought: THINKING,
    call: `<tool_call>${TOOL}\n<arg_key>city</arg_key>\n<arg_value>${CITY}</arg_value>\n</tool_call>`,
  },
  {
    names: "Granite 4 H",
    architectures: ["granitehybrid"],
    template: template({ turn: ["<|start_of_role|>ROLE<|end_of_role|>", "<|end_of_text|>\n"], call: HERMES }),
    call: HERMES_CALL,
  },
  {
    names: "LFM2",
    architectures: ["lfm2", "lfm2moe"],
    template: template({
      call: '<|tool_call_start|>[{{ name }}({% for key, value in args.items() %}{{ key }}="{{ value }}"{% endfor %})]<|tool_call_end|>',
      instructions: "List of tools: ",
    }),
    call: `<|tool_call_start|>[${TOOL}(city="${CITY}")]<|tool_call_end|>`,
  },
];
