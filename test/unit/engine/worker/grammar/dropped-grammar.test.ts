import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Tier } from "../../../../../engine/protocol/request.ts";
import { GrammarConstraint } from "../../../../../engine/worker/grammar/grammar-constraint.ts";
import { Slices } from "../../../../../engine/worker/grammar/slices.ts";
import { VocabularyGrammars } from "../../../../../engine/worker/grammar/vocabulary-grammar.ts";
import type { EngineSequence } from "../../../../../engine/worker/step/sequence.ts";
import { compiledGbnf } from "../../../../../grammar/gbnf/compile-gbnf.ts";
import { plainRequest } from "../plain-request.ts";
import { generationOf, StepRig, VOCABULARY } from "../step/step-rig.ts";

const OWNER = { tier: "default", isWanted: () => true } as const;
/** Cached grammars. */
const KEPT = 32;

/** A grammar of many edges; each number makes another. */
function large(number: number): { gbnf: string; triggers: null } {
  const others = Array.from({ length: 1000 }, (_, i) => `"${number} ${i}"`);
  return { gbnf: `root ::= "a"+ | ${others.join(" | ")}`, triggers: null };
}

function slicesOf(gbnf: string): number {
  let pauses = 0;
  for (const _ of compiledGbnf(gbnf)) pauses++;
  // Two pauses are the most that the clock below allows to a slice.
  return Math.floor(pauses / 2);
}

/** Steps, and grammars in whose compilation each slice but the first waits until it is released. */
class Rig extends StepRig {
  readonly grammars: VocabularyGrammars;
  readonly #paused: (() => void)[] = [];
  #held = false;
  /** Released slices. */
  slices = 0;

  constructor(sequences: number) {
    super(sequences, 400);
    let time = 0;
    const rest = () => (this.#held ? new Promise<void>((resolve) => this.#paused.push(resolve)) : Promise.resolve());
    this.grammars = new VocabularyGrammars(VOCABULARY, new Slices({ now: () => time++, nextTurn: rest }));
  }

  /** Compiles the submitted grammar; from then on slices are held. */
  async submit(...rules: { gbnf: string }[]): Promise<void> {
    this.#held = false;
    for (const rule of rules) await this.grammars.prepare(rule, OWNER);
    this.#held = true;
  }

  /** Drops all cached grammars by compiling others. */
  async drop(): Promise<void> {
    await this.submit(...Array.from({ length: KEPT }, (_, i) => ({ gbnf: `root ::= "${i}"` })));
  }

  add(id: number, limit: number, rule: ReturnType<typeof large> | null, tier: Tier = "default"): EngineSequence {
    const wake = () => this.wakes++;
    const options = { grammars: this.grammars, reasoningTags: null, startsInReasoning: false, wake };
    const constraint = rule === null ? null : new GrammarConstraint({ ...options, rule });
    const generation = generationOf(id, [id, 7, 8], limit, { constraint, request: plainRequest({ id, tier }) });
    this.loop.add(generation);
    return generation;
  }

  /** One step, and then one slice, if there is one. @returns whether the step had work */
  async step(): Promise<boolean> {
    const stepped = await this.loop.step();
    await turn();
    const next = this.#paused.shift();
    if (next === undefined) return stepped;
    this.slices++;
    next();
    await turn();
    return stepped;
  }

  async stepUntil(isDone: () => boolean): Promise<void> {
    for (let step = 0; !isDone(); step++) {
      if (step === 1000) throw new Error("It is not done after 1,000 steps.");
      await this.step();
    }
  }
}

test("a dropped grammar is compiled again in slices, with a step of the streams after each", async () => {
  const rig = new Rig(2);
  const rule = large(1);
  await rig.submit(rule);
  await rig.drop();
  expect(rig.grammars.kept(rule)).toBeNull();
  const stream = rig.add(1, 300, null);
  const waited = rig.add(2, 1, rule);
  await rig.stepUntil(() => waited.finished);
  expect(rig.slices).toBe(slicesOf(rule.gbnf));
  expect(rig.slices).toBeGreaterThan(10);
  expect(stream.generated).toBeGreaterThanOrEqual(rig.slices);
  expect(rig.sent.filter(([id]) => id === 2)).toEqual([]);
  await rig.step();
  expect(rig.sent.filter(([id]) => id === 2)).toEqual([[2, "a"]]);
});

test("it is compiled when its request starts, and later requests do not overtake it", async () => {
  const rig = new Rig(1);
  const rule = large(1);
  await rig.drop();
  const stream = rig.add(1, 20, null);
  const waited = rig.add(2, 2, rule);
  const behind = rig.add(3, 2, null);
  await rig.stepUntil(() => stream.finished);
  expect(rig.slices).toBe(0);
  expect(rig.grammars.kept(rule)).toBeNull();
  await rig.stepUntil(() => waited.finished);
  expect(rig.slices).toBe(slicesOf(rule.gbnf));
  expect(behind.generated).toBe(0);
  await rig.stepUntil(() => behind.finished);
});

test("the step loop sleeps until it is compiled, and is woken then", async () => {
  const rig = new Rig(1);
  const rule = large(1);
  await rig.drop();
  const waited = rig.add(1, 1, rule);
  const { wakes } = rig;
  let idle = 0;
  while (rig.wakes === wakes) {
    expect(await rig.step()).toBe(false);
    idle++;
  }
  // The first slice is not held.
  expect(idle).toBe(slicesOf(rule.gbnf));
  expect(rig.failed).toEqual([]);
  expect(await rig.step()).toBe(true);
  expect(waited.finished).toBe(true);
});

test("a cancelled request frees its id, and its queued grammar is not compiled", async () => {
  const rig = new Rig(3);
  const rules = [large(1), large(2), large(3)] as const;
  await rig.drop();
  const [first, second, third] = rules.map((rule, i) => rig.add(i + 1, 1, rule)) as [
    EngineSequence,
    EngineSequence,
    EngineSequence,
  ];
  await rig.step();
  // At most two grammars are compiled at once.
  rig.loop.cancel(first);
  rig.loop.cancel(third);
  const next = rig.add(4, 1, null);
  await rig.stepUntil(() => next.finished);
  expect([first.state, third.state]).toEqual(["ended", "ended"]);
  expect(second.state).toBe("running");
  await rig.stepUntil(() => second.finished);
  while (await rig.step());
  expect(rig.sent.map(([id]) => id)).toEqual([4, 2]);
  expect(rig.grammars.kept(rules[2])).toBeNull();
  expect(rig.failed).toEqual([]);
});

test("a preempted sequence keeps its grammar when the cache drops it", async () => {
  const rig = new Rig(1);
  const rule = large(1);
  await rig.submit(rule);
  const batch = rig.add(1, 6, rule, "batch");
  await rig.stepUntil(() => batch.generated === 3);
  await rig.drop();
  const online = rig.add(2, 3, null);
  await rig.stepUntil(() => online.finished);
  expect(batch.state).toBe("waiting");
  await rig.stepUntil(() => batch.finished);
  expect(rig.slices).toBe(0);
  expect(rig.grammars.kept(rule)).toBeNull();
});

test("the grammar of a started sequence does not wait behind those of submitted requests", async () => {
  const rig = new Rig(1);
  const started = large(9);
  await rig.drop();
  const submitted = [1, 2, 3, 4].map((number) => large(number));
  const prepared = submitted.map((rule) => rig.grammars.prepare(rule, OWNER));
  const sequence = rig.add(1, 1, started);
  await rig.stepUntil(() => sequence.finished);
  expect(rig.grammars.kept(submitted[3]!)).toBeNull();
  let compiled = false;
  void Promise.all(prepared).then(() => {
    compiled = true;
  });
  await rig.stepUntil(() => compiled);
});
