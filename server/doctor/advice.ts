import { type LoadedFacts, USUAL_CONTEXT } from "../../engine/protocol/config.ts";
import type { Machine } from "./machine.ts";

export interface Advice {
  /** Values by option key, for nightshift.yaml. */
  settings: { threads: number; kv: string; sequences: number; context: number };
  notes: string[];
}

/** Recommended settings for this model on this machine, with reasons for those that differ from the tried ones. */
export function advise(facts: LoadedFacts, machine: Machine): Advice {
  const { local } = facts;
  const notes: string[] = [];
  // A compute thread that shares its core delays all others at every barrier.
  const threads = Math.max(1, machine.cores - 1);
  if (local.threads > threads) {
    notes.push(
      `${local.threads} compute threads on ${machine.cores} cores leave none to the server, and a thread that waits for a core delays all others: use ${threads}.`,
    );
  }
  const wanted = Math.min(local.trainedContext, USUAL_CONTEXT);
  if (facts.context < wanted) {
    notes.push(
      `The context is ${facts.context.toLocaleString("en-US")} tokens where the model could use ${wanted.toLocaleString("en-US")}: use fewer sequences, --kv unified or --cache-type-k q8_0 --cache-type-v q8_0.`,
    );
  }
  if (local.bytes + local.cacheBytes > machine.freeMemory && local.backend === "cpu") {
    notes.push(
      "Weights and KV cache exceed the free memory: expect swapping. Lower --context, --sequences or --memory.",
    );
  }
  if (!local.chatTemplate) notes.push("The model has no chat template; if it is a base model, use /v1/completions.");
  if (machine.cores === 1) notes.push("With one core the server and the engine share it: token times will be uneven.");
  return { settings: { threads, kv: local.kv, sequences: facts.sequences, context: facts.context }, notes };
}
