import { copyGguf } from "./gguf-copy.ts";
import { DEMO_MODEL } from "./server.ts";

const TEMPLATE = `{%- for message in messages -%}
{{- '<|im_start|>' + message.role + '\n' -}}
{%- if message.reasoning_content -%}{{- '<think>' + message.reasoning_content + '</think>' -}}{%- endif -%}
{{- message.content + '<|im_end|>\n' -}}
{%- endfor -%}
{{- '<|im_start|>assistant\n' -}}
{%- if enable_thinking is not defined or enable_thinking -%}{{- '<think>\n' -}}{%- endif -%}`;

/** Writes the demo model with a template that opens reasoning unless it is switched off. The model never closes it by itself. */
export function writeThinker(path: string): void {
  copyGguf(DEMO_MODEL, path, "tokenizer.chat_template", TEMPLATE);
}
