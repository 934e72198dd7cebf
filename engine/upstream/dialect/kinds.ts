import { REQUEST_FEATURES, type RequestFeature } from "../../protocol/config.ts";
import type { UpstreamKind } from "./upstream-config.ts";

/** The dialect of one kind of upstream. */
export interface UpstreamDialect {
  /** Parts of requests that it does not take. */
  refuses: readonly RequestFeature[];
  /** Takes the role `developer`; another gets `system`. */
  developer: boolean;
  /** Takes a choice among some of the tools, as OpenAI has it. */
  allowedTools: boolean;
  /** The names of llama.cpp's samplers in bodies are known. */
  samplers: "llama.cpp" | "vllm" | "none";
  /** Its own path to count tokens; null where it has none. */
  tokenize: "llama-server" | "vllm" | "nightshift" | null;
  /**
   * Requests of flex and batch are preempted for online ones: here, unless the engine itself does so where it is told their
   * priorities. Never where a provider bills what was generated, or where a router has queues and replicas of its own.
   */
  preemption: "here" | "its own by priority" | "never";
  /** Separates its prefix cache by the field `cache_salt`. */
  cacheSalt?: true;
  /** Reports the tokens of each choice by themselves, in place of their sum. */
  usageByChoice?: true;
}

/** Takes what OpenAI's API has, and nothing else. */
const PLAIN: UpstreamDialect = {
  refuses: REQUEST_FEATURES.filter((feature) => feature !== "tools" && feature !== "logit_bias"),
  developer: false,
  allowedTools: false,
  samplers: "none",
  tokenize: null,
  preemption: "here",
};

/** vLLM and what serves with its front end. */
const VLLM: UpstreamDialect = {
  refuses: ["a GBNF grammar", "log probabilities of the prompt", "samplers of llama.cpp", "a reasoning budget"],
  developer: false,
  allowedTools: false,
  samplers: "vllm",
  tokenize: "vllm",
  preemption: "here",
};

const DIALECTS: Readonly<Record<UpstreamKind, UpstreamDialect>> = {
  vllm: { ...VLLM, cacheSalt: true },
  sglang: { ...VLLM, tokenize: null, preemption: "its own by priority" },
  "llm-d": { ...VLLM, tokenize: null, preemption: "never" },
  ray: { ...VLLM, tokenize: null, preemption: "never" },
  kserve: { ...VLLM, tokenize: null, preemption: "never" },
  dynamo: {
    ...PLAIN,
    refuses: PLAIN.refuses.filter((feature) => feature !== "top_k and min_p"),
    preemption: "never",
  },
  "llama-server": {
    refuses: ["log probabilities of the prompt", "min_tokens and stop_token_ids"],
    developer: false,
    allowedTools: false,
    samplers: "llama.cpp",
    tokenize: "llama-server",
    preemption: "here",
    usageByChoice: true,
  },
  nightshift: {
    refuses: ["log probabilities of the prompt", "a prefilled answer"],
    developer: true,
    allowedTools: true,
    samplers: "llama.cpp",
    tokenize: "nightshift",
    preemption: "its own by priority",
  },
  tgi: PLAIN,
  trtllm: PLAIN,
  triton: PLAIN,
  openai: { ...PLAIN, developer: true, preemption: "never" },
};

export function dialectOf(kind: UpstreamKind): UpstreamDialect {
  return DIALECTS[kind];
}

/** The kind by `owned_by` of its models, as vLLM, SGLang, llama-server and this server set it; `openai` for all others. */
export function kindOfOwner(ownedBy: unknown): UpstreamKind {
  switch (ownedBy) {
    case "vllm":
    case "sglang":
    case "nightshift":
      return ownedBy;
    case "llamacpp":
      return "llama-server";
    default:
      return "openai";
  }
}
