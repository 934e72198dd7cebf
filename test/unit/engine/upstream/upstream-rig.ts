import { onTestFinished } from "vitest";
import type { RequestListener, Submission } from "../../../../engine/engine.ts";
import { NO_CAPS, type UpstreamConfig } from "../../../../engine/upstream/dialect/upstream-config.ts";
import { Upstream, type UpstreamParts } from "../../../../engine/upstream/upstream.ts";
import type { UpstreamEngine } from "../../../../engine/upstream/upstream-engine.ts";
import type { ApiError } from "../../../../openapi/api-error.ts";
import { PLAIN_SUBMISSION } from "../../../plain-submission.ts";
import { FakeUpstream } from "../../../upstream/fake-upstream.ts";
import type { UpstreamOptions } from "../../../upstream/upstream-options.ts";

export const CHAT = "/v1/chat/completions";

export const CONFIG: UpstreamConfig = {
  name: "up",
  kind: null,
  replicas: [],
  models: null,
  apiKey: null,
  priority: "none",
  context: null,
  trusted: false,
  sloTtftMs: 2000,
  sloItlMs: 200,
  timeouts: { connect: 2000, firstEvent: 60_000, silence: 60_000, batchSilence: 60_000 },
  rate: NO_CAPS,
  hedge: false,
  cacheScope: "global",
};

/** A fake upstream that ends with the test. */
export async function fake(options: Partial<UpstreamOptions> = {}): Promise<FakeUpstream> {
  const upstream = await FakeUpstream.start({ kind: "vllm", ...options });
  onTestFinished(() => upstream.stop().catch(() => {}));
  return upstream;
}

/** An upstream over these replicas, with everything that it tells. The clock is set by hand. */
export async function upstreamOf(
  replicas: readonly FakeUpstream[],
  config: Partial<UpstreamConfig> = {},
  parts: Partial<UpstreamParts> = {},
) {
  const told = {
    outcomes: [] as string[],
    retried: [] as string[],
    hedged: [] as string[],
    estimated: 0,
    dropped: 0,
    log: [] as object[],
  };
  const clock = { ms: 1000, now: () => clock.ms, epochMs: () => clock.ms };
  const engines = new Map<string, UpstreamEngine>();
  const note = (fields: object) => void told.log.push(fields);
  const upstream = new Upstream(
    { ...CONFIG, replicas: replicas.map(({ baseUrl }) => ({ url: baseUrl, weight: 1 })), ...config },
    {
      clock,
      random: () => 0,
      randomId: () => "1",
      log: { debug: note, info: note, warn: note, error: note },
      observer: {
        ended: (_, outcome) => told.outcomes.push(outcome),
        retried: (_, reason) => told.retried.push(reason),
        hedged: (_, result) => told.hedged.push(result),
        estimated: () => told.estimated++,
        dropped: (_, tokens) => {
          told.dropped += tokens;
        },
      },
      taken: (name) => engines.has(name),
      served: (engine) => engines.set(engine.model, engine),
      ...parts,
    },
  );
  onTestFinished(() => upstream.stop());
  await upstream.start();
  return { upstream, engines, engine: upstream.engines[0]!, access: upstream.access, clock, told };
}

/** A chat with one message. */
export function chat(text: string, more: Partial<Submission> = {}): Submission {
  const messages = [{ role: "user" as const, content: text }];
  const prompt = {
    kind: "chat" as const,
    messages,
    variables: {},
    thinking: { effort: null, budget: null },
    tools: [],
  };
  return { ...PLAIN_SUBMISSION, endpoint: CHAT, prompt, ...more };
}

/** A submission with all that its listener gets; `ended` resolves with its error, or null. @param restarts false where its client has seen the beginning */
export function run(engine: UpstreamEngine, submission: Submission, restarts = true) {
  const texts = Array.from({ length: submission.n }, () => "");
  const left = new Set(texts.keys());
  const seen = { events: [] as string[], estimated: [] as boolean[], texts, finishes: [] as unknown[] };
  let settle: (error: ApiError | null) => void;
  let begin: () => void;
  const ended = new Promise<ApiError | null>((resolve) => {
    settle = resolve;
  });
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const listener: RequestListener = {
    accepted: (tokens, _text, estimated = false) => {
      seen.events.push(`accepted ${tokens}`);
      seen.estimated.push(estimated);
    },
    started: (index) => seen.events.push(`started ${index}`),
    output: ({ index, text, finish }) => {
      texts[index] += text;
      begin();
      if (finish === null) return;
      seen.finishes.push(finish);
      left.delete(index);
      if (left.size === 0) settle(null);
    },
    failed: (error) => settle(error),
    mayRestart: (interruption) => {
      seen.events.push(`mayRestart ${interruption}`);
      if (restarts) texts.fill("");
      return restarts;
    },
  };
  return { ...seen, ended, begun, ticket: engine.submit(submission, listener) };
}

/** The code of the error with which it ended, or its text. */
export async function outcomeOf(engine: UpstreamEngine, submission: Submission): Promise<string> {
  const work = run(engine, submission);
  const error = await work.ended;
  return error === null ? work.texts.join("|") : String(error.code);
}
