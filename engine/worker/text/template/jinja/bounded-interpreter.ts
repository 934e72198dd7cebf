import type { Environment } from "@huggingface/jinja";
import { isSelection, type Node } from "./nodes.ts";
import { PythonInterpreter } from "./python-interpreter.ts";
import type { Scope, Value } from "./values/values.ts";

/** Steps that one iteration of a loop counts as: this interpreter makes nine values and their methods for each. */
const STEPS_PER_ITERATION = 32;
/** Items of a new or iterated list, and characters of a new text, that take as long as one step. */
const ITEMS_PER_STEP = 8;
const CHARACTERS_PER_STEP = 1024;
/** Expressions that can make a large value of small ones. */
const GROWING = new Set(["BinaryExpression", "CallExpression", "FilterExpression"]);

/** A template took more steps than allowed; as a rule one of its loops has no end. */
export class EndlessTemplate extends Error {
  override readonly name = "EndlessTemplate";

  constructor(mostSteps: number) {
    super(`it takes more than ${mostSteps} steps`);
  }
}

/** Runs a template within a number of steps: evaluated expressions, iterations of loops, and the sizes of new values. */
export class BoundedInterpreter extends PythonInterpreter {
  readonly #loops: Loops;
  readonly #mostSteps: number;
  #steps = 0;

  /** @param loops those of the program */
  constructor(environment: Environment, loops: Loops, mostSteps: number) {
    super(environment);
    this.#loops = loops;
    this.#mostSteps = mostSteps;
  }

  override evaluate(node: Node | undefined, scope: Scope): Value {
    this.#count(1);
    const value = super.evaluate(node, scope);
    if (node !== undefined && (GROWING.has(node.type) || this.#loops.iterables.has(node)))
      this.#count(stepsOf(value.value));
    return value;
  }

  override evaluateBlock(nodes: readonly Node[], scope: Scope): Value {
    if (this.#loops.bodies.has(nodes)) this.#count(STEPS_PER_ITERATION);
    return super.evaluateBlock(nodes, scope);
  }

  #count(steps: number): void {
    this.#steps += steps;
    if (this.#steps > this.#mostSteps) throw new EndlessTemplate(this.#mostSteps);
  }
}

/** The loops of a parsed template: the expressions that they iterate over, and their bodies. */
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
      // In `for x in list if test` only the list is evaluated.
      this.iterables.add(isSelection(iterable as Node) ? (iterable as { lhs: Node }).lhs : iterable);
      this.bodies.add(node.body);
    }
    for (const child of node instanceof Map ? [...node].flat() : Object.values(node)) this.#collect(child);
  }
}

function stepsOf(value: Value["value"]): number {
  if (Array.isArray(value)) return value.length / ITEMS_PER_STEP;
  if (value instanceof Map) return value.size / ITEMS_PER_STEP;
  return typeof value === "string" ? value.length / CHARACTERS_PER_STEP : 0;
}
