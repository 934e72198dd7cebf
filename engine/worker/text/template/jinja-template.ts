import { Environment, Template } from "@huggingface/jinja";
import { BoundedInterpreter, Loops } from "./bounded-interpreter.ts";
import { withNumericKeys } from "./python-interpreter.ts";
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
  "messages tools bos_token eos_token raise_exception strftime_now range namespace true false none True False None".split(
    " ",
  ),
);

/** A template called `raise_exception`. */
export class TemplateRefusal extends Error {
  override readonly name = "TemplateRefusal";
}

/** A parsed Jinja template with the globals that transformers gives to chat templates. */
export class JinjaTemplate {
  readonly source: string;
  readonly #program: Template["parsed"];
  readonly #loops: Loops;

  /** @throws Error for a source that is not Jinja */
  constructor(source: string) {
    this.source = source;
    this.#program = new Template(source).parsed;
    withoutTuples(this.#program);
    withNumericKeys(this.#program);
    this.#loops = new Loops(this.#program);
  }

  /** @throws TemplateRefusal; EndlessTemplate past `mostSteps`; any error of the interpreter */
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
    return String(new BoundedInterpreter(environment, this.#loops, mostSteps).run(this.#program).value);
  }
}

/** Tuples of values become lists: a loop of this interpreter unpacks lists alone (`for a, b in [(1, 2)]`). */
function withoutTuples(node: unknown): void {
  if (typeof node !== "object" || node === null) return;
  if (node instanceof Map) {
    for (const entry of node) withoutTuples(entry);
    return;
  }
  for (const [key, child] of Object.entries(node)) {
    // Names that a loop or an assignment unpacks into.
    if (key === "loopvar" || key === "assignee") continue;
    withoutTuples(child);
  }
  if ("type" in node && node.type === "TupleLiteral") node.type = "ArrayLiteral";
}

function boundedRange(first: number, second?: number, step = 1): number[] {
  const [start, stop] = second === undefined ? [0, first] : [first, second];
  const length = Math.max(0, Math.ceil((stop - start) / step));
  if (!(length <= LONGEST_RANGE)) throw new Error(`range() is limited to ${LONGEST_RANGE} numbers`);
  return Array.from({ length }, (_, index) => start + index * step);
}
