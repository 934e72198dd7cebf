import { createInterface } from "node:readline/promises";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { styleText } from "node:util";
import { Command, InvalidArgumentError } from "commander";
import { modelList } from "../../../openapi/resources/models.ts";
import { OptionsError } from "../../../platform/options-error.ts";
import { ApiClient, Interrupted } from "../client/api-client.ts";
import { urlOption } from "../client/server-url.ts";
import { answerPieces } from "./answer-stream.ts";

/** Environment and streams of the command; those of the process fit. */
export interface ChatCommandDeps {
  env: Readonly<Record<string, string | undefined>>;
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean };
  stderr: Writable & { isTTY?: boolean };
  /** Adds or removes a listener for Ctrl-C outside a terminal's line. */
  on(event: "SIGINT", listener: () => void): unknown;
  off(event: "SIGINT", listener: () => void): unknown;
}

interface ChatFlags {
  url?: string;
  model?: string;
  system?: string;
  temperature?: number;
  maxTokens?: number;
}

interface Message {
  role: "system" | "user" | "assistant";
  content: string;
}

/** Runs `nightshift chat` with the arguments after the name. Rejects with OptionsError for every failure. */
export async function chatCommand(args: readonly string[], deps: ChatCommandDeps): Promise<void> {
  await new Command("nightshift chat")
    .description(
      "Chat with a model of a server. A question is answered once, with the standard input behind it; " +
        "without a question, a terminal has a conversation. Reasoning goes to the standard error.",
    )
    .showHelpAfterError("Run with --help for usage.")
    .argument("[question...]")
    .addOption(urlOption())
    .option("--model <name>", "default: the server's first model")
    .option("--system <text>", "the system message")
    .option("--temperature <number>", "randomness of the answer, from 0 to 2", number)
    .option("--max-tokens <n>", "most tokens of an answer", number)
    .action(async (words: string[], flags: ChatFlags) => {
      const chat = new Chat(deps, flags, flags.model ?? (await firstModel(flags, deps)));
      // The line break at the end is the shell's.
      const piped = deps.stdin.isTTY ? "" : (await text(deps.stdin)).trimEnd();
      const question = [words.join(" "), piped].filter((part) => part.trim() !== "").join("\n\n");
      if (question !== "") return chat.answer(question);
      if (!deps.stdin.isTTY) throw new OptionsError("There is no question: give one, or pipe one in.");
      await converse(chat, deps);
    })
    .parseAsync(args, { from: "user" });
}

/** Asks until the input ends. An error ends one answer; Ctrl-C ends the answer, and at the prompt the conversation. */
async function converse(chat: Chat, { stdin, stdout, stderr }: ChatCommandDeps): Promise<void> {
  const lines = createInterface({ input: stdin, output: stdout, prompt: "> " });
  stderr.write(`${chat.model}. Ctrl-D ends the conversation.\n`);
  let answering: AbortController | null = null;
  lines.on("SIGINT", () => {
    if (answering === null) lines.close();
    else answering.abort();
  });
  lines.prompt();
  for await (const line of lines) {
    if (line.trim() !== "") {
      answering = new AbortController();
      try {
        await chat.answer(line, answering);
      } catch (error) {
        if (!(error instanceof OptionsError)) throw error;
        stderr.write(`\n${error.message}\n`);
      } finally {
        answering = null;
      }
    }
    lines.prompt();
  }
  stdout.write("\n");
}

/** A conversation with one model. */
class Chat {
  readonly model: string;
  readonly #deps: ChatCommandDeps;
  readonly #flags: ChatFlags;
  readonly #messages: Message[] = [];

  constructor(deps: ChatCommandDeps, flags: ChatFlags, model: string) {
    this.#deps = deps;
    this.#flags = flags;
    this.model = model;
    if (flags.system !== undefined) this.#messages.push({ role: "system", content: flags.system });
  }

  /**
   * Writes the answer while it is generated. A question whose answer failed, or was interrupted, leaves the conversation.
   *
   * @throws OptionsError
   */
  async answer(content: string, interrupted = new AbortController()): Promise<void> {
    const { env, stdout, stderr, on, off } = this.#deps;
    const { url, temperature, maxTokens } = this.#flags;
    const messages: Message[] = [...this.#messages, { role: "user", content }];
    const stop = () => interrupted.abort();
    on.call(this.#deps, "SIGINT", stop);
    let answer = "";
    let reasons = false;
    try {
      const body = await new ApiClient(url, env, interrupted.signal).stream("chat/completions", {
        ...{ model: this.model, messages, stream: true },
        ...(temperature !== undefined && { temperature }),
        ...(maxTokens !== undefined && { max_tokens: maxTokens }),
      });
      for await (const { kind, text } of answerPieces(body)) {
        if (kind === "reasoning") stderr.write(stderr.isTTY ? styleText("dim", text) : text);
        else if (reasons) stderr.write("\n\n");
        reasons = kind === "reasoning";
        if (kind === "content") stdout.write(text);
        if (kind === "content") answer += text;
      }
      stdout.write("\n");
    } catch (error) {
      throw interrupted.signal.aborted ? new Interrupted() : error;
    } finally {
      off.call(this.#deps, "SIGINT", stop);
    }
    this.#messages.push({ role: "user", content }, { role: "assistant", content: answer });
  }
}

async function firstModel({ url }: ChatFlags, { env }: ChatCommandDeps): Promise<string> {
  const { data } = await new ApiClient(url, env).call("GET", "models", modelList);
  const own = data.find(({ nightshift }) => nightshift.alias_of === null);
  if (own === undefined) throw new OptionsError("The server has no models.");
  return own.id;
}

function number(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) throw new InvalidArgumentError("It must be a number.");
  return value;
}
