import { Environment } from "@huggingface/jinja";
import { BoundedInterpreter, EndlessTemplate, Loops } from "./jinja/bounded-interpreter.ts";
import { Arguments } from "./jinja/builtins/arguments.ts";
import { members } from "./jinja/builtins/container-methods.ts";
import type { Node } from "./jinja/nodes.ts";
import { parsedTemplate } from "./jinja/parsed-template.ts";
import { TemplateLines } from "./jinja/template-lines.ts";
import { callable, mapping, type Scope } from "./jinja/values/values.ts";
import { strftime } from "./strftime.ts";

/** Numbers in a range. Jinja's own sandbox has this bound, so that no list fills the memory. */
const LONGEST_RANGE = 100_000;

/**
 * Steps of one rendering. For 4,097 messages and 128 tools, llama.cpp's templates take up to 1,500,000; one, which searches
 * the messages for each message, takes more than 3,000,000.
 */
const MOST_STEPS = 4_000_000;

/** Names that a template gets from this class; a client can't set them. */
export const OWN_NAMES: ReadonlySet<string> = new Set(
  "messages tools bos_token eos_token raise_exception strftime_now range namespace dict true false none True False None".split(
    " ",
  ),
);

/** A template called `raise_exception`. */
export class TemplateRefusal extends Error {
  override readonly name = "TemplateRefusal";
}

/** An error of the interpreter, with the template's line where it is known. */
export class TemplateFault extends Error {
  override readonly name = "TemplateFault";

  constructor(message: string, line: number | null) {
    super(line === null ? message : `${message} (line ${line})`);
  }
}

/** A parsed Jinja template with the globals that transformers gives to chat templates. */
export class JinjaTemplate {
  readonly source: string;
  readonly #program: Node;
  readonly #loops: Loops;

  /** @throws TemplateSyntaxError for a source that is not Jinja */
  constructor(source: string) {
    this.source = source;
    this.#program = parsedTemplate(source);
    this.#loops = new Loops(this.#program);
  }

  /** @throws TemplateRefusal; EndlessTemplate past `mostSteps`; TemplateFault for all other errors */
  render(variables: Record<string, unknown>, now: Date, mostSteps = MOST_STEPS): string {
    // Not Template.render: its `strftime_now` reads the clock itself, and a second definition throws.
    const environment = new Environment();
    const globals = {
      true: true,
      false: false,
      none: null,
      True: true,
      False: false,
      None: null,
      range: boundedRange,
      strftime_now: (format: string) => strftime(now, format),
      raise_exception: (message: unknown) => {
        throw new TemplateRefusal(String(message));
      },
    };
    for (const [name, value] of Object.entries({ ...variables, ...globals })) environment.set(name, value);
    (environment as unknown as Scope).setVariable(
      "dict",
      callable((args) => mapping(new Map(members(Arguments.of(args))))),
    );
    const interpreter = new BoundedInterpreter(environment, this.#loops, mostSteps);
    try {
      return String(interpreter.run(this.#program).value);
    } catch (error) {
      if (error instanceof TemplateRefusal || error instanceof EndlessTemplate) throw error;
      const lines = new TemplateLines(this.source, this.#program);
      const line = interpreter.failed === null ? null : lines.lineOf(interpreter.failed);
      throw new TemplateFault(error instanceof Error ? error.message : String(error), line);
    }
  }
}

function boundedRange(first: number, second?: number, step = 1): number[] {
  const [start, stop] = second === undefined ? [0, first] : [first, second];
  const length = Math.max(0, Math.ceil((stop - start) / step));
  if (!(length <= LONGEST_RANGE)) throw new Error(`range() is limited to ${LONGEST_RANGE} numbers`);
  return Array.from({ length }, (_, index) => start + index * step);
}
