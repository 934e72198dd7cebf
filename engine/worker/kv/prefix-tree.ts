import { type CachedSequence, NO_PREFIX, type PrefixMatch } from "./cached-sequence.ts";

interface Node<R extends CachedSequence> {
  parent: Node<R> | null;
  /** The tokens of a resident below: the first `end` of them are the path from the root. */
  tokens: readonly number[];
  end: number;
  /** By the token after `end`. */
  readonly children: Map<number, Node<R>>;
  /** Those whose computed tokens end here. */
  readonly residents: Set<R>;
}

/**
 * The computed tokens of all residents, as a radix tree per scope: the longest prefix of a prompt is found in one walk
 * along the prompt, for any number of residents. Tokens are not copied: a node refers to those of a resident, whose
 * computed tokens never change.
 *
 * Every node but the root has a resident or at least two children. So there is a resident below each node, and a resident
 * that ends at a leaf alone shares its tokens up to the leaf's parent.
 */
export class PrefixTree<R extends CachedSequence = CachedSequence> {
  readonly #roots = new Map<string, Node<R>>();
  readonly #ends = new Map<R, Node<R>>();

  add(resident: R): void {
    let root = this.#roots.get(resident.scope);
    if (root === undefined) {
      root = newNode<R>(null, resident.tokens, 0);
      this.#roots.set(resident.scope, root);
    }
    this.#enter(resident, root);
  }

  /** Adds the tokens that a resident has computed since the last call. */
  follow(resident: R): void {
    const node = this.#ends.get(resident)!;
    const { tokens, computed } = resident;
    if (node.end === computed) return;
    if (node.parent !== null && node.residents.size === 1 && node.children.size === 0) {
      node.tokens = tokens;
      node.end = computed;
      return;
    }
    node.residents.delete(resident);
    this.#enter(resident, node);
    this.#tidy(node, resident.scope);
  }

  remove(resident: R): void {
    const node = this.#ends.get(resident)!;
    this.#ends.delete(resident);
    node.residents.delete(resident);
    this.#tidy(node, resident.scope);
  }

  /** A resident with the longest common prefix of the first `limit` tokens; one that ends there, if there is one. */
  match({ tokens, scope }: Pick<CachedSequence, "tokens" | "scope">, limit: number): PrefixMatch<R> {
    let node = this.#roots.get(scope);
    let length = 0;
    while (node !== undefined && length === node.end && length < limit) {
      const child = node.children.get(tokens[length]!);
      if (child === undefined) break;
      length = agreement(tokens, child.tokens, length, Math.min(child.end, limit));
      node = child;
    }
    return node === undefined || length === 0 ? NO_PREFIX : { resident: residentBelow(node), length };
  }

  /** The resident with the most computed tokens that are all among the first `limit` tokens. */
  matchWhole({ tokens, scope }: Pick<CachedSequence, "tokens" | "scope">, limit: number): PrefixMatch<R> {
    let node = this.#roots.get(scope);
    let match: PrefixMatch<R> = NO_PREFIX;
    while (node !== undefined) {
      const child = node.children.get(tokens[node.end]!);
      if (child === undefined || child.end > limit) break;
      if (agreement(tokens, child.tokens, node.end, child.end) < child.end) break;
      const [resident] = child.residents;
      if (resident !== undefined) match = { resident, length: child.end };
      node = child;
    }
    return match;
  }

  /** The number of a resident's tokens that another one holds too. */
  shared(resident: R): number {
    const node = this.#ends.get(resident)!;
    return node.residents.size > 1 || node.children.size > 0 ? node.end : (node.parent?.end ?? 0);
  }

  #enter(resident: R, from: Node<R>): void {
    const { tokens, computed } = resident;
    let node = from;
    while (node.end < computed) {
      const child = node.children.get(tokens[node.end]!);
      if (child === undefined) {
        node = newNode(node, tokens, computed);
        break;
      }
      const end = agreement(tokens, child.tokens, node.end, Math.min(child.end, computed));
      node = end < child.end ? split(child, end) : child;
    }
    node.residents.add(resident);
    this.#ends.set(resident, node);
  }

  /** Removes a node without a resident and with fewer than two children. */
  #tidy(node: Node<R>, scope: string): void {
    const { parent, residents, children, tokens } = node;
    if (residents.size > 0 || children.size > 1) return;
    const [child] = children.values();
    if (parent === null) {
      if (child === undefined) this.#roots.delete(scope);
      return;
    }
    const key = tokens[parent.end]!;
    if (child !== undefined) {
      child.parent = parent;
      parent.children.set(key, child);
    } else {
      parent.children.delete(key);
      this.#tidy(parent, scope);
    }
  }
}

function newNode<R extends CachedSequence>(parent: Node<R> | null, tokens: readonly number[], end: number): Node<R> {
  const node: Node<R> = { parent, tokens, end, children: new Map(), residents: new Set() };
  parent?.children.set(tokens[parent.end]!, node);
  return node;
}

/** Inserts a node above another one, where the path has `end` tokens. */
function split<R extends CachedSequence>(node: Node<R>, end: number): Node<R> {
  const above = newNode(node.parent, node.tokens, end);
  above.children.set(node.tokens[end]!, node);
  node.parent = above;
  return above;
}

function residentBelow<R extends CachedSequence>(node: Node<R>): R {
  let below = node;
  for (;;) {
    for (const resident of below.residents) return resident;
    for (const child of below.children.values()) {
      below = child;
      break;
    }
  }
}

/** The first position from `from` on at which both differ, at most `to`. */
function agreement(a: readonly number[], b: readonly number[], from: number, to: number): number {
  let position = from;
  while (position < to && a[position] === b[position]) position++;
  return position;
}
