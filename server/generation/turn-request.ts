import type { Asked } from "../../engine/engine.ts";
import type { Prompt } from "../../engine/protocol/prompt.ts";
import type { ToolChoice } from "../../engine/protocol/tool-choice.ts";
import { formRule } from "./answer-form.ts";
import type { GenerationRequest } from "./request.ts";
import type { Turn } from "./turn.ts";

/** The part of a request that follows from its turn. */
export function turnRequest(turn: Turn): Pick<GenerationRequest, "tier" | "submissions" | "toolChoice"> {
  const { form, settings } = turn;
  const submission: Asked = {
    ...settings,
    prompt: turnPrompt(turn),
    grammar: formRule(form),
    echo: false,
  };
  return { tier: settings.tier, submissions: [submission], toolChoice: toolChoice(turn) };
}

export function turnPrompt({ messages, variables, thinking, tools, answerStart }: Omit<Turn, "settings">): Prompt {
  return { kind: "chat", messages, variables, thinking, tools, ...(answerStart !== undefined && { answerStart }) };
}

/** Null where no tool is offered. */
function toolChoice({ tools, toolUse, form }: Turn): ToolChoice | null {
  if (tools.length === 0) return null;
  const { allowed, required, parallel } = toolUse;
  const callable = allowed === null ? tools : tools.filter((tool) => allowed.includes(tool.function.name));
  const { schema: answer = null, strict } = form ?? {};
  const restricted = callable.length < tools.length;
  return { callable, required, restricted, parallel, answer, ...(strict !== undefined && { strict }) };
}
