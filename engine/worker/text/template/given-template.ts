import type { ChatTemplateFile } from "../../../protocol/config.ts";
import { RequestRefusal } from "../../../protocol/request-refusal.ts";
import type { ChatTemplate } from "./chat-template.ts";

const QUESTION = "How many letters has the alphabet?";

/**
 * Checks a template that the operator gave in place of the model's own. ChatML or a prompt without the messages would hide
 * the fault.
 *
 * @throws Error that names the file
 */
export function checkGivenTemplate(template: ChatTemplate, { path }: ChatTemplateFile): void {
  if (template.fault !== null) throw new Error(`The chat template ${path} can't be used: ${template.fault}`);
  if (!writesMessages(template)) {
    throw new Error(`The chat template ${path} does not write the messages of a chat. Is it a template of chats?`);
  }
}

/** True also where it fails on the example: its warnings have the reason. */
function writesMessages(template: ChatTemplate): boolean {
  try {
    const { pieces } = template.render([{ role: "user", content: QUESTION }], {}, new Date(0));
    return pieces
      .map(({ text }) => text)
      .join("")
      .includes(QUESTION);
  } catch (error) {
    if (error instanceof RequestRefusal) return true;
    throw error;
  }
}
