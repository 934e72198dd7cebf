import { Random } from "../../../../../bench/base/random.ts";
import { NO_CAPS } from "../../../../../engine/upstream/dialect/upstream-config.ts";
import { RateCap } from "../../../../../engine/upstream/rate/rate-cap.ts";
import { Gate } from "../../../../../engine/upstream/replica/gate.ts";
import { Placement } from "../../../../../engine/upstream/replica/placement.ts";
import { BLOCK_CHARS, prefixBlocks } from "../../../../../engine/upstream/replica/prefix-blocks.ts";
import { Replica, type Visit } from "../../../../../engine/upstream/replica/replica.ts";

/** Milliseconds of a step, whatever is in it, and sequences that one step computes. */
const STEP_MS = 20;
const SLOTS = 16;
const TOKENS_PER_BLOCK = 64;
/** Tokens of prompts that a step reads. */
const CHUNK = 512;
/** Conversations at once, each of which asks again when it was answered. They share prompts of so many blocks. */
const CLIENTS = 96;
const SHARED_PROMPTS = 24;
const SHARED_BLOCKS = 16;

interface Sequence {
  visit: Visit;
  client: number;
  prefill: number;
  answer: number;
}

/** Engines with fixed costs of a step behind a gate, on a clock that goes by steps. */
export class SimulatedReplicas {
  readonly #clock = { ms: 0, now: () => this.#clock.ms };
  readonly #replicas: Replica[];
  readonly #gate: Gate;
  readonly #random = new Random(5);
  /** Of each replica, those that it computes and those that wait, and the blocks that it has computed. */
  readonly #sequences = new Map<Replica, Sequence[]>();
  readonly #cached = new Map<Replica, Set<number>>();
  /** The replica that the last request with each shared prompt was sent to. */
  readonly #homes = new Map<number, Replica>();
  /** Tokens of answers, requests, and those that followed the last one with their shared prompt. */
  tokens = 0;
  followed = 0;
  repeated = 0;

  constructor(count: number) {
    this.#replicas = Array.from({ length: count }, (_, nth) => new Replica(`r${nth}`, this.#clock));
    for (const replica of this.#replicas) {
      replica.healthy = true;
      this.#sequences.set(replica, []);
      this.#cached.set(replica, new Set());
    }
    const random = new Random(3);
    const placement = new Placement(() => random.next());
    this.#gate = new Gate("up", this.#replicas, placement, new RateCap(NO_CAPS, this.#clock));
  }

  /** Tokens of answers per second. */
  async run(seconds: number): Promise<number> {
    for (let client = 0; client < CLIENTS; client++) await this.#ask(client);
    for (; this.#clock.ms < seconds * 1000; this.#clock.ms += STEP_MS) {
      for (const replica of this.#replicas) await this.#step(replica);
    }
    return this.tokens / seconds;
  }

  async #ask(client: number): Promise<void> {
    const shared = client % SHARED_PROMPTS;
    const own = String(this.#random.next()).padEnd(BLOCK_CHARS, "x");
    const blocks = prefixBlocks("m", `${String(shared).padEnd(SHARED_BLOCKS * BLOCK_CHARS, "s")}${own}`);
    const answer = 50 + Math.floor(this.#random.next() * 100);
    const tokens = blocks.length * TOKENS_PER_BLOCK + answer;
    const entrance = {
      tier: "default" as const,
      tokens,
      sequences: 1,
      blocks,
      avoid: new Set<string>(),
      preempted: false,
      mayPreempt: () => false,
    };
    const visit = await this.#gate.enter(entrance, new AbortController().signal);
    const { replica } = visit;
    const home = this.#homes.get(shared);
    if (home !== undefined) this.repeated++;
    if (home === replica) this.followed++;
    this.#homes.set(shared, replica);
    const cached = this.#cached.get(replica)!;
    const prefill = blocks.filter((block) => !cached.has(block)).length * TOKENS_PER_BLOCK;
    for (const block of blocks) cached.add(block);
    this.#sequences.get(replica)!.push({ visit, client, prefill, answer });
  }

  async #step(replica: Replica): Promise<void> {
    const sequences = this.#sequences.get(replica)!;
    let chunk = CHUNK;
    for (const sequence of sequences.slice(0, SLOTS)) {
      const read = Math.min(chunk, sequence.prefill);
      chunk -= read;
      sequence.prefill -= read;
      if (read > 0 || sequence.prefill > 0) continue;
      this.tokens++;
      if (--sequence.answer > 0) continue;
      sequences.splice(sequences.indexOf(sequence), 1);
      sequence.visit.leave("clean", false);
      await this.#ask(sequence.client);
    }
  }
}
