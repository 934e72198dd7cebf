import type { z } from "zod";
import { MAX_TOOLS, toolsExcess } from "../generation/tools.ts";
import type { InputItem } from "./input-item.ts";
import { type ResponseTool, type ResponseToolChoice, strictParameters } from "./tools.ts";

interface Checked {
  input?: string | InputItem[] | null | undefined;
  tools?: ResponseTool[] | null | undefined;
  tool_choice?: ResponseToolChoice | null | undefined;
  previous_response_id?: string | null | undefined;
  conversation?: unknown;
}

/** A tool in the prompt. */
export type OwnTool = Exclude<ResponseTool, { type: "hosted" }>;

/** The tools of a request in the prompt: those of the field, and those that its items add. */
export function toolsOf({ tools, input }: Pick<Checked, "tools" | "input">): OwnTool[] {
  return allTools({ tools, input }).filter((tool) => tool.type !== "hosted");
}

function allTools({ tools, input }: Pick<Checked, "tools" | "input">): ResponseTool[] {
  const items = Array.isArray(input) ? input : [];
  return [...(tools ?? []), ...items.flatMap((item) => (item.type === "additional_tools" ? item.tools : []))];
}

/** The tools that a choice of `allowed_tools` names, without those that are skipped. */
export function allowedNames({ tools }: Extract<ResponseToolChoice, { type: "allowed_tools" }>): string[] {
  return tools.flatMap(({ type, name }) => (name != null && (type === "function" || type === "custom") ? [name] : []));
}

interface BackgroundFields extends Pick<Checked, "input"> {
  background?: boolean | null | undefined;
  store?: boolean | null | undefined;
  context_management?: readonly unknown[] | null | undefined;
  nightshift?: { dry_run?: boolean | null | undefined } | null | undefined;
}

/** Rules between `background` and other fields. */
export function backgroundChecks({ value, issues }: z.core.ParsePayload<BackgroundFields>): void {
  if (value.background !== true) return;
  const refuse = (path: PropertyKey[], message: string) =>
    issues.push({ code: "custom", input: value, path, params: { code: "unsupported_value" }, message });
  if (value.store === false) refuse(["store"], "a background response is stored; omit it or send true.");
  if (Array.isArray(value.input) && value.input.at(-1)?.type === "compaction_trigger") {
    refuse(["input", value.input.length - 1], "a compaction is not made in the background; omit 'background'.");
  }
  if ((value.context_management?.length ?? 0) > 0) {
    refuse(["context_management"], "prompts in the background are not compacted; omit it.");
  }
  if (value.nightshift?.dry_run) refuse(["nightshift", "dry_run"], "a dry run has no background response.");
}

/** Rules between the fields of a request. */
export function responseChecks(context: z.core.ParsePayload<Checked>): void {
  const { value, issues } = context;
  const complain = (path: PropertyKey[], message: string) =>
    issues.push({ code: "custom", input: value, path, message });
  if (value.previous_response_id != null && value.conversation != null) {
    complain(["conversation"], "it is not allowed together with 'previous_response_id'");
  }
  const trigger = Array.isArray(value.input) ? value.input.findIndex(({ type }) => type === "compaction_trigger") : -1;
  if (trigger !== -1 && trigger !== Object(value.input).length - 1) {
    complain(["input", trigger], "a compaction_trigger must be the last item");
  }
  const all = allTools(value);
  const excess = all.length > MAX_TOOLS ? `they are more than ${MAX_TOOLS}` : toolsExcess(all, strictParameters);
  if (excess !== null) return void complain(["tools"], excess);
  const tools = toolsOf(value);
  const names = tools.map(({ name }) => name);
  const duplicate = names.findIndex((name, index) => names.indexOf(name) !== index);
  if (duplicate !== -1) complain(["tools"], `two tools have the name '${names[duplicate]}'`);
  checkChoice(value.tool_choice, tools, complain);
}

function checkChoice(
  choice: ResponseToolChoice | null | undefined,
  tools: readonly OwnTool[],
  complain: (path: PropertyKey[], message: string) => void,
): void {
  if (choice == null || choice === "none" || choice === "auto") return;
  const has = (name: string) => tools.some((tool) => tool.name === name);
  if (choice === "required") {
    if (tools.length === 0) complain(["tool_choice"], "there is no tool that this server supports");
  } else if (choice.type !== "allowed_tools") {
    if (!tools.some(({ type, name }) => type === choice.type && name === choice.name))
      complain(["tool_choice", "name"], "there is no such tool");
  } else {
    const names = allowedNames(choice);
    if (!names.every(has)) complain(["tool_choice", "tools"], "one of them is not among the tools");
    if (names.length === 0 && choice.mode === "required")
      complain(["tool_choice", "tools"], "this server supports none of them");
  }
}
