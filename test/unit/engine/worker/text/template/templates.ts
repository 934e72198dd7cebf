/** Chat templates in the styles that models use, written for these tests. */

export const CHATML = {
  bos: "",
  eos: "<|im_end|>",
  specialTokens: ["<|im_start|>", "<|im_end|>", "<|endoftext|>"],
};

export const PLAIN_CHATML = `{%- for message in messages -%}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}`;

/** Qwen's style: tools in the system turn, reasoning of earlier turns dropped, empty reasoning to switch it off. */
export const QWEN = `{%- if tools %}
{{- '<|im_start|>system\\n' }}
{%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
{{- 'Functions:\\n<tools>' }}
{%- for tool in tools %}{{- '\\n' }}{{- tool | tojson }}{%- endfor %}
{{- '\\n</tools><|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}
{{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{%- set content = message.content if message.content is string else '' %}
{%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}
{{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>\\n' }}
{%- elif message.role == 'assistant' %}
{%- if '</think>' in content %}{%- set content = content.split('</think>')[-1].lstrip('\\n') %}{%- endif %}
{{- '<|im_start|>assistant\\n' + content }}
{%- for call in message.tool_calls or [] %}
{{- '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
{%- if call.function.arguments is string %}{{- call.function.arguments }}{%- else %}{{- call.function.arguments | tojson }}{%- endif %}
{{- '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- elif message.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>\\n' + content + '\\n</tool_response><|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}`;

export const LLAMA = {
  bos: "<|begin_of_text|>",
  eos: "<|eot_id|>",
  specialTokens: [
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    ...Array.from({ length: 248 }, (_, index) => `<|reserved_special_token_${index}|>`),
  ],
};

/** Llama 3's style: BOS in the template, today's date, trimmed content. */
export const LLAMA_TEMPLATE = `{{- bos_token }}
{%- if not date_string is defined %}
    {%- set date_string = strftime_now("%d %b %Y") %}
{%- endif %}
{%- for message in messages %}
    {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' }}
    {%- if loop.first and message['role'] == 'system' %}{{- 'Today Date: ' + date_string + '\\n\\n' }}{%- endif %}
    {{- message['content'] | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{%- endif %}`;

export const MISTRAL = { bos: "<s>", eos: "</s>", specialTokens: ["<unk>", "<s>", "</s>", "[INST]", "[/INST]"] };

export const MISTRAL_TEMPLATE = `{{- bos_token }}
{%- for message in messages %}
{%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}
{{- raise_exception('Turns must alternate user/assistant/user/assistant/...') }}
{%- endif %}
{%- if message.role == 'user' %}{{- '[INST] ' + message.content + ' [/INST]' }}
{%- elif message.role == 'assistant' %}{{- ' ' + message.content + eos_token }}
{%- else %}{{- raise_exception('Only user and assistant turns, not ' + message.role) }}
{%- endif %}
{%- endfor %}`;

export const GEMMA = {
  bos: "<bos>",
  eos: "<eos>",
  specialTokens: ["<pad>", "<bos>", "<eos>", "<unk>", "<start_of_turn>", "<end_of_turn>"],
};

export const GEMMA_TEMPLATE = `{{ bos_token }}
{%- if messages[0].role == 'system' %}{{ raise_exception('No system role here') }}{% endif %}
{%- for message in messages %}
{%- set role = 'model' if message.role == 'assistant' else message.role %}
{{- '<start_of_turn>' + role + '\\n' + message.content | trim + '<end_of_turn>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}`;

export const DEEPSEEK = {
  bos: "<｜begin▁of▁sentence｜>",
  eos: "<｜end▁of▁sentence｜>",
  specialTokens: [
    "<｜begin▁of▁sentence｜>",
    "<｜end▁of▁sentence｜>",
    "<｜User｜>",
    "<｜Assistant｜>",
    "<｜tool▁call▁begin｜>",
  ],
};

/** DeepSeek-R1's style: arguments are text, reasoning of earlier turns cut at `</think>`, reasoning opened at the end. */
export const DEEPSEEK_TEMPLATE = `{%- set ns = namespace(system='') -%}
{%- for message in messages -%}{%- if message['role'] == 'system' -%}{%- set ns.system = message['content'] -%}{%- endif -%}{%- endfor -%}
{{- bos_token + ns.system -}}
{%- for message in messages -%}
{%- if message['role'] == 'user' -%}{{- '<｜User｜>' + message['content'] -}}
{%- elif message['role'] == 'assistant' and 'tool_calls' in message -%}
{{- '<｜Assistant｜>' -}}
{%- for call in message['tool_calls'] -%}
{{- '<｜tool▁call▁begin｜>' + call['function']['name'] + '\\n' + call['function']['arguments'] -}}
{%- endfor -%}
{{- eos_token -}}
{%- elif message['role'] == 'assistant' -%}
{%- set content = message['content'] -%}
{%- if '</think>' in content -%}{%- set content = content.split('</think>')[-1] -%}{%- endif -%}
{{- '<｜Assistant｜>' + content + eos_token -}}
{%- elif message['role'] == 'tool' -%}{{- '<result>' + message['content'] + '</result>' -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<｜Assistant｜><think>\\n' -}}{%- endif -%}`;
