import { EndlessTemplate } from "./jinja/bounded-interpreter.ts";
import { type JinjaTemplate, TemplateRefusal } from "./jinja-template.ts";
import { templateDates } from "./template-dates.ts";

const EPOCH = new Date(0);
/** Steps of one trial. None of llama.cpp's 70 templates takes more than 1,500 for a question with a tool. */
const TRIAL_STEPS = 50_000;

type Outcome = { text: string } | { refusal: string } | { error: string };

/** Renders examples with a template, to find its abilities. */
export class TemplateTrial {
  readonly template: JinjaTemplate;
  /** True for a template that takes tools as the JSON text `functions`. */
  readonly functions: boolean;

  constructor(template: JinjaTemplate, question: unknown) {
    this.template = template;
    const outcome = (functions: boolean) => this.#outcome({ messages: [question], tools: [] }, functions);
    this.functions = "error" in outcome(false) && "text" in outcome(true);
  }

  /** The rendering of these variables and the beginning of an assistant's turn; null where it fails. */
  rendered(variables: Record<string, unknown>): string | null {
    const outcome = this.#outcome(variables, this.functions);
    return "text" in outcome ? outcome.text : null;
  }

  /** The message of an error of the interpreter; null where it renders, or refuses by itself. */
  error(variables: Record<string, unknown>): string | null {
    const outcome = this.#outcome(variables, this.functions);
    return "error" in outcome ? outcome.error : null;
  }

  /** The reason for which the template itself refuses; null where it renders, or fails otherwise. */
  refusal(variables: Record<string, unknown>): string | null {
    const outcome = this.#outcome(variables, this.functions);
    return "refusal" in outcome ? outcome.refusal : null;
  }

  /** @throws EndlessTemplate, which is no trait: the template would fail, or take as long, with clients' messages */
  #outcome(variables: Record<string, unknown>, functions: boolean): Outcome {
    const texts = { bos_token: "", eos_token: "", ...templateDates(EPOCH) };
    const common = { ...texts, documents: null, add_generation_prompt: true };
    const { tools } = variables;
    const listed = functions ? functionVariables(Array.isArray(tools) ? tools : []) : {};
    try {
      return { text: this.template.render({ ...common, ...listed, ...variables }, EPOCH, TRIAL_STEPS) };
    } catch (error) {
      if (error instanceof EndlessTemplate) throw error;
      const message = error instanceof Error ? error.message : String(error);
      return error instanceof TemplateRefusal ? { refusal: message } : { error: message };
    }
  }
}

/** The variable of FireFunction's template: the tools as JSON text. */
export function functionVariables(tools: readonly unknown[]): Record<string, string> {
  return { functions: JSON.stringify(tools, null, 4) };
}
