import { GbnfError } from "./gbnf.ts";
import type { Network } from "./network.ts";
import { type PausedWork, Pauses } from "./paused-work.ts";

/** @throws GbnfError for a network with an endless walk that takes no byte, or without a finite text */
export function* checkNetwork(network: Network): PausedWork<void> {
  const ends = (yield* spread(network, true)).done;
  if (ends[network.root] !== 1)
    throw new GbnfError("The grammar's root can never come to an end: a rule always leads to itself.");
  const { calls } = yield* spread(network, false);
  if (yield* hasCycle(calls)) {
    throw new GbnfError(
      "The grammar is left-recursive: a rule begins with itself. Rewrite the rule so that it begins with other text.",
    );
  }
}

/**
 * Walks all rules from their entries, and past calls of rules that are done. With `bytes`, byte edges are walked too: a rule
 * is then done if some text passes it, otherwise if the empty text does.
 *
 * Every node is walked once: the target of a call waits until the called rule is done.
 */
function* spread(network: Network, bytes: boolean): PausedWork<{ done: Uint8Array; calls: Set<number>[] }> {
  const { entries, exits, rules, edges } = network;
  const done = new Uint8Array(entries.length);
  const calls = entries.map(() => new Set<number>());
  const waiting: number[][] = entries.map(() => []);
  const reached = new Uint8Array(edges.length);
  const todo: number[] = [];
  const pauses = new Pauses();
  const reach = (node: number) => {
    if (reached[node] === 1) return;
    reached[node] = 1;
    todo.push(node);
  };
  for (const entry of entries) reach(entry);
  for (let node = todo.pop(); node !== undefined; node = todo.pop()) {
    if (pauses.due()) yield;
    const rule = rules[node]!;
    if (node === exits[rule]) {
      done[rule] = 1;
      for (const target of waiting[rule]!.splice(0)) reach(target);
    }
    for (const edge of edges[node]!) {
      if (edge.kind === "free" || (edge.kind === "byte" && bytes)) reach(edge.to);
      if (edge.kind !== "call") continue;
      calls[rule]!.add(edge.rule);
      if (done[edge.rule] === 1) reach(edge.to);
      else waiting[edge.rule]!.push(edge.to);
    }
  }
  return { done, calls };
}

/** Iterative, since chains of rules may be as long as the grammar. */
function* hasCycle(graph: readonly ReadonlySet<number>[]): PausedWork<boolean> {
  const UNSEEN = 0;
  const OPEN = 1;
  const CLOSED = 2;
  const states = new Uint8Array(graph.length);
  const pauses = new Pauses();
  for (let start = 0; start < graph.length; start++) {
    if (states[start] !== UNSEEN) continue;
    states[start] = OPEN;
    const path = [{ node: start, next: graph[start]!.values() }];
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      if (pauses.due()) yield;
      const { value, done } = top.next.next();
      if (done) {
        states[top.node] = CLOSED;
        path.pop();
      } else if (states[value] === OPEN) {
        return true;
      } else if (states[value] === UNSEEN) {
        states[value] = OPEN;
        path.push({ node: value, next: graph[value]!.values() });
      }
    }
  }
  return false;
}
