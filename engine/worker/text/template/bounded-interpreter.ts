import { type Environment, Interpreter } from "@huggingface/jinja";

interface Value {
  value: unknown;
}

interface Node {
  type: string;
}

/** What is used of the package's interpreter, whose own types are not found by TypeScript. */
const PlainInterpreter: new (
  environment: Environment,
) => {
  run(program: unknown): Value;
  evaluate(node: Node | undefined, scope: unknown): Value;
  evaluateBlock(nodes: Node[], scope: unknown): Value;
} = Interpreter;

/** A turn of a loop counts as so many steps: this interpreter makes nine values and their methods for each. */
const STEPS_PER_TURN = 32;
/** Items of a list that is made or to be looped over, and characters of a text that is made, that take as long as a step. */
const ITEMS_PER_STEP = 8;
const CHARACTERS_PER_STEP = 1024;
/** What can make much of little. */
const GROWING = new Set(["BinaryExpression", "CallExpression", "FilterExpression"]);

/** A template took more steps than it may: as a rule its loops have no end. */
export class EndlessTemplate extends Error {
  override readonly name = "EndlessTemplate";

  constructor(mostSteps: number) {
    super(`it takes more than ${mostSteps} steps`);
  }
}

/** Runs a template within a number of steps: expressions that are evaluated, turns of loops, and large values that are made. */
export class BoundedInterpreter extends PlainInterpreter {
  readonly #loops: Loops;
  readonly #mostSteps: number;
  #steps = 0;

  /** `loops`: those of the program that is to run. */
  constructor(environment: Environment, loops: Loops, mostSteps: number) {
    super(environment);
    this.#loops = loops;
    this.#mostSteps = mostSteps;
  }

  override evaluate(node: Node | undefined, scope: unknown): Value {
    this.#take(1);
    const value = super.evaluate(node, scope);
    if (node !== undefined && (GROWING.has(node.type) || this.#loops.iterables.has(node)))
      this.#take(stepsOf(value.value));
    return value;
  }

  override evaluateBlock(nodes: Node[], scope: unknown): Value {
    if (this.#loops.bodies.has(nodes)) this.#take(STEPS_PER_TURN);
    return super.evaluateBlock(nodes, scope);
  }

  #take(steps: number): void {
    this.#steps += steps;
    if (this.#steps > this.#mostSteps) throw new EndlessTemplate(this.#mostSteps);
  }
}

/** The parts of a parsed template that are loops: what they run over, and what they do. */
export class Loops {
  readonly iterables = new Set<unknown>();
  readonly bodies = new Set<unknown>();

  constructor(program: unknown) {
    this.#collect(program);
  }

  #collect(node: unknown): void {
    if (typeof node !== "object" || node === null) return;
    if ("iterable" in node && "body" in node) {
      const { iterable } = node;
      // Of `for x in list if test` the list alone is evaluated.
      this.iterables.add(isSelection(iterable) ? iterable.lhs : iterable);
      this.bodies.add(node.body);
    }
    for (const child of node instanceof Map ? [...node].flat() : Object.values(node)) this.#collect(child);
  }
}

function isSelection(node: unknown): node is { lhs: unknown } {
  return (
    typeof node === "object" && node !== null && "type" in node && node.type === "SelectExpression" && "lhs" in node
  );
}

function stepsOf(value: unknown): number {
  if (Array.isArray(value)) return value.length / ITEMS_PER_STEP;
  if (value instanceof Map) return value.size / ITEMS_PER_STEP;
  return typeof value === "string" ? value.length / CHARACTERS_PER_STEP : 0;
}
