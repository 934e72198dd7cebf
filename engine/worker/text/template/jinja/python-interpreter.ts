import { type Environment, Interpreter } from "@huggingface/jinja";
import { filtered } from "./builtins/apply-filter.ts";
import { Arguments } from "./builtins/arguments.ts";
import { loopValue } from "./builtins/loop-value.ts";
import { attribute, item, sliced } from "./builtins/members.ts";
import { OPERATORS } from "./builtins/operators.ts";
import { tested } from "./builtins/tests.ts";
import {
  type Binary,
  type Call,
  type FilterNode,
  type For,
  isCall,
  isName,
  isSelection,
  type Macro,
  type Member,
  type Name,
  type Node,
  type ObjectLiteral,
  type Slice,
  type TestNode,
} from "./nodes.ts";
import { pythonText } from "./values/python-text.ts";
import {
  boolean,
  callable,
  isTrue,
  iterated,
  type Key,
  keyOf,
  mapping,
  missing,
  nameOf,
  type Scope,
  scopeIn,
  text,
  type Value,
} from "./values/values.ts";

/** The used members of the package's interpreter, whose own types TypeScript does not find. */
interface PackageInterpreter {
  run(program: Node): Value;
  evaluate(node: Node | undefined, scope: Scope): Value;
  evaluateBlock(nodes: readonly Node[], scope: Scope): Value;
  evaluateArguments(args: readonly Node[], scope: Scope): [Value[], Map<string, Value>];
  evaluateCallExpression(node: Call, scope: Scope): Value;
  evaluateMacro(node: Macro, scope: Scope): Value;
}

const PlainInterpreter: new (environment: Environment) => PackageInterpreter = Interpreter;

/** A `break` or `continue`, with the text that the blocks around it have written. */
class LoopControl {
  readonly ends: boolean;
  text = "";

  constructor(ends: boolean) {
    this.ends = ends;
  }
}

/** Statements without a text; an expression writes "None" for none. */
const SILENT = new Set(["Set", "Macro", "Comment"]);
/** Filters that the parser makes of tests with arguments begin so. */
const TEST_PREFIX = /^is (not )?/;

/**
 * The package's interpreter with the values of Python and the filters, tests and scopes of Jinja2: the package has those of
 * JavaScript for many types, and leaves out parts that published chat templates use.
 */
export class PythonInterpreter extends PlainInterpreter {
  /** The innermost node that failed, for messages. */
  failed: Node | null = null;

  override evaluate(node: Node | undefined, scope: Scope): Value {
    try {
      switch (node?.type) {
        case "Break":
        case "Continue":
          throw new LoopControl(node.type === "Break");
        case "ObjectLiteral":
          return this.#dictionary(node as ObjectLiteral, scope);
        default:
          return super.evaluate(node, scope);
      }
    } catch (error) {
      if (!(error instanceof LoopControl)) this.failed ??= node ?? null;
      throw error;
    }
  }

  override evaluateBlock(nodes: readonly Node[], scope: Scope): Value {
    let result = "";
    try {
      for (const node of nodes) {
        const value = this.evaluate(node, scope);
        if (!SILENT.has(node.type)) result += pythonText(value);
      }
    } catch (error) {
      if (error instanceof LoopControl) error.text = result + error.text;
      throw error;
    }
    return text(result);
  }

  evaluateBinaryExpression({ operator, left, right }: Binary, scope: Scope): Value {
    const first = this.evaluate(left, scope);
    if (operator.value === "and") return isTrue(first) ? this.evaluate(right, scope) : first;
    if (operator.value === "or") return isTrue(first) ? first : this.evaluate(right, scope);
    const operate = OPERATORS.get(operator.value);
    if (operate === undefined) throw new Error(`no operator is named '${operator.value}'`);
    return operate(first, this.evaluate(right, scope));
  }

  evaluateTestExpression({ operand, negate, test }: TestNode, scope: Scope): Value {
    return boolean(tested(test.value, this.evaluate(operand, scope), new Arguments([])) !== negate);
  }

  applyFilter(operand: Value, filter: FilterNode, scope: Scope): Value {
    const name = isCall(filter) ? (filter.callee as Name).value : filter.value;
    const args = isCall(filter) ? new Arguments(...this.evaluateArguments(filter.args, scope)) : new Arguments([]);
    const test = TEST_PREFIX.exec(name);
    if (test === null) return filtered(name, operand, args);
    return boolean(tested(name.slice(test[0].length), operand, args) === (test[1] === undefined));
  }

  evaluateMemberExpression({ object, property, computed }: Member, scope: Scope): Value {
    const subject = this.evaluate(object, scope);
    if (!computed) {
      return isName(property) ? attribute(subject, property.value) : item(subject, this.evaluate(property, scope));
    }
    if (property.type !== "SliceExpression") return item(subject, this.evaluate(property, scope));
    const { start, stop, step } = property as Slice;
    return sliced(
      subject,
      [start, stop, step].map((bound) => this.evaluate(bound, scope)),
    );
  }

  override evaluateCallExpression(node: Call, scope: Scope): Value {
    const { callee } = node;
    if (isName(callee)) {
      const found = scope.lookupVariable(callee.value);
      if (found.type !== "FunctionValue") throw new Error(`'${callee.value}' is ${nameOf(found)}, not a function`);
    }
    return super.evaluateCallExpression(node, scope);
  }

  /** A macro sees the variables of the place where it stands, and `caller` of the place that calls it. */
  override evaluateMacro(node: Macro, scope: Scope): Value {
    const result = super.evaluateMacro(node, scope);
    const macro = scope.lookupVariable(node.name.value);
    if (macro.type !== "FunctionValue") return result;
    const run = macro.value;
    const called = callable((args, from) => {
      const own = scopeIn(scope);
      const caller = from.lookupVariable("caller");
      if (caller.type === "FunctionValue") own.setVariable("caller", caller);
      return run(args, own);
    });
    scope.setVariable(node.name.value, called);
    return result;
  }

  /** Each iteration has a scope of its own, and a `break` keeps the text before it. */
  evaluateFor(node: For, scope: Scope): Value {
    const items = this.#loopItems(node, scope);
    // As in Jinja2, `else` follows a loop of which no iteration reached its end.
    let isEmpty = true;
    const changes: { last: Value | null } = { last: null };
    let result = "";
    for (const [index, value] of items.entries()) {
      const inner = scopeIn(scope);
      inner.setVariable("loop", loopValue(items, index, changes));
      assign(node.loopvar, value, inner);
      try {
        result += pythonText(this.evaluateBlock(node.body, inner));
        isEmpty = false;
      } catch (error) {
        if (!(error instanceof LoopControl)) throw error;
        result += error.text;
        if (error.ends) break;
      }
    }
    return isEmpty ? text(result + pythonText(this.evaluateBlock(node.defaultBlock, scope))) : text(result);
  }

  #loopItems({ iterable, loopvar }: For, scope: Scope): Value[] {
    if (!isSelection(iterable)) return [...iterated(this.evaluate(iterable, scope))];
    return iterated(this.evaluate(iterable.lhs, scope)).filter((value) => {
      const inner = scopeIn(scope);
      assign(loopvar, value, inner);
      return isTrue(this.evaluate(iterable.test, inner));
    });
  }

  #dictionary({ value }: ObjectLiteral, scope: Scope): Value {
    const members = new Map<Key, Value>();
    for (const [name, member] of value) {
      const key = this.evaluate(name, scope);
      const found = keyOf(key);
      if (found === undefined) throw new Error(`${nameOf(key)} is no key of a dictionary`);
      members.set(found, this.evaluate(member, scope));
    }
    return mapping(members);
  }
}

/** Sets the variables of a loop: one, or as many as the value has items. */
function assign(target: Node, value: Value, scope: Scope): void {
  if (isName(target)) {
    scope.setVariable(target.value, value);
    return;
  }
  const names = (target as Node & { value: Node[] }).value;
  const items = iterated(value);
  if (items.length !== names.length) {
    throw new Error(`${items.length} items cannot be unpacked into ${names.length} variables`);
  }
  for (const [index, name] of names.entries()) assign(name, items[index] ?? missing(), scope);
}
