/** The nodes of a parsed template that this engine evaluates itself, as the package makes them. */
export interface Node {
  type: string;
}

export interface Name extends Node {
  value: string;
}

export interface Binary extends Node {
  operator: { value: string };
  left: Node;
  right: Node;
}

export interface TestNode extends Node {
  operand: Node;
  negate: boolean;
  test: Name;
}

/** A filter's name, or its name with arguments. */
export type FilterNode = Name | Call;

export interface Call extends Node {
  callee: Node;
  args: Node[];
}

/** `object.name`, and `object[property]` where it is computed. */
export interface Member extends Node {
  object: Node;
  property: Node;
  computed: boolean;
}

export interface Slice extends Node {
  start?: Node;
  stop?: Node;
  step?: Node;
}

export interface For extends Node {
  loopvar: Node;
  iterable: Node;
  body: Node[];
  defaultBlock: Node[];
}

export interface Macro extends Node {
  name: Name;
}

export interface ObjectLiteral extends Node {
  value: Map<Node, Node>;
}

export function isName(node: Node): node is Name {
  return node.type === "Identifier";
}

export function isCall(node: Node): node is Call {
  return node.type === "CallExpression";
}

/** True for `list if test`, the form of a loop over a part of a list. */
export function isSelection(node: Node): node is Node & { lhs: Node; test: Node } {
  return node.type === "SelectExpression";
}
