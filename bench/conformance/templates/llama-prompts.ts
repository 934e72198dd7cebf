import { startChild } from "../../target/child-server.ts";
import type { Conversation } from "./conversations.ts";
import type { Rendering } from "./jinja-oracle.ts";

/** A llama-server of the compared release, and a model whose vocabulary it needs. */
export interface LlamaServer {
  binary: string;
  gguf: string;
}

/** The prompts that llama-server makes of conversations with one template. */
export interface LlamaPrompts {
  bos: string;
  eos: string;
  prompts: Rendering[];
}

const SIZE = "-c 512 -np 1 --no-warmup -lv 0".split(" ");

/** Starts llama-server with the template of a file, and asks for the prompt of every conversation. */
export async function llamaPrompts(
  { binary, gguf }: LlamaServer,
  file: string,
  conversations: readonly Conversation[],
): Promise<LlamaPrompts> {
  const server = await startChild(
    (port) => [
      binary,
      "-m",
      gguf,
      "--port",
      String(port),
      ...SIZE,
      "--jinja",
      "--no-prefill-assistant",
      "--chat-template-file",
      file,
    ],
    "/health",
  );
  try {
    const properties = (await (await fetch(new URL("/props", server.base))).json()) as Record<string, string>;
    const prompts: Rendering[] = [];
    for (const conversation of conversations) prompts.push(await promptOf(server.base, conversation));
    return { bos: properties.bos_token ?? "", eos: properties.eos_token ?? "", prompts };
  } finally {
    await server.stop();
  }
}

async function promptOf(base: URL, { messages, tools, variables }: Conversation): Promise<Rendering> {
  const { add_generation_prompt = true, ...others } = variables;
  const body = {
    messages,
    ...(tools.length > 0 && { tools }),
    add_generation_prompt,
    chat_template_kwargs: others,
  };
  const response = await fetch(new URL("/apply-template", base), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as { prompt?: string; error?: { message: string } };
  if (answer.prompt !== undefined) return { text: answer.prompt };
  return { failed: answer.error?.message ?? String(response.status) };
}
