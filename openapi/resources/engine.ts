import { z } from "zod";
import { modelReadiness } from "./health.ts";

const count = z.int().min(0);
const ms = z.number().min(0);
const usd = z.number().min(0).nullable();

const byTier = z.object({ priority: count, default: count, flex: count, batch: count });

const stepModel = z
  .object({
    steps: z
      .object({ prefill: count, decode: count })
      .describe("Steps measured since the engine's start: those with prompt tokens, those of decodes alone."),
    error: z
      .object({ median: z.number().min(0), mean: z.number().min(0), overrun: z.number().min(1) })
      .describe(
        "|measured - predicted| / measured of the last 256 steps; overrun: measured / predicted that 19 of 20 steps of " +
          "flex and batch alone stay within.",
      ),
    reach: z
      .object({ prefill: count, decode: count })
      .describe("Most tokens of a kind that flex and batch may have in one step: twice the most that was measured."),
    fit: z
      .object({
        o: ms.describe("ms of every step"),
        p: ms.describe("ms per prompt token"),
        d: ms.describe("ms per decode"),
        k: ms.describe("ms per position that a decode attends over"),
        r: ms.describe("ms per position that a prompt token attends over"),
        m: ms.describe("ms of each pass over the weights past the first, which only a split cache takes"),
      })
      .nullable()
      .describe("Null until 16 steps of decodes alone were measured."),
  })
  .describe("step = o + p * prefill + d * decode + k * kv + r * read + m * (passes - 1), fitted to measured steps.");

const caps = z.object({
  alone: z
    .object({ step_ms: ms, decodes: count, prefill_tokens: count })
    .describe(
      "A step of flex and batch alone (--batch-step-ms / overrun), and what fits: (step_ms - o) / the cost of one.",
    ),
  beside_online: z
    .array(z.object({ streams: count, online_ms: ms, step_ms: ms, decodes: count }))
    .describe("By online streams: their step, what it may take with flex and batch (--batch-tax), decodes that fit."),
});

const batchPrice = z.object({
  batch_size: count,
  step_ms: ms,
  tokens_per_second: ms,
  usd_per_million_tokens: usd,
  spot_usd_per_million_tokens: usd,
  extrapolated: z.boolean().describe("Larger than reach."),
});
export type BatchPrice = z.infer<typeof batchPrice>;

const forecast = z.object({
  context_tokens: count.describe("Of each sequence, prompt and answer so far; none in common with another."),
  machine_usd_per_hour: usd,
  machine_spot_usd_per_hour: usd,
  batch_sizes: z.array(batchPrice).describe("Steps of decodes alone: what reading prompts costs is not in it."),
});

const engineReport = z.object({
  object: z.literal("nightshift.engine"),
  model: z.string(),
  state: modelReadiness.shape.state,
  status: z
    .object({
      step_model: stepModel,
      objectives: z
        .object({ ttft_ms: ms, itl_ms: ms })
        .describe("Those that hold now: --slo-ttft-ms and --slo-itl-ms, or what auto has derived."),
      caps: caps.nullable().describe("Null as long as there is no fit."),
      forecast: forecast.nullable().describe("Null as long as there is no fit."),
      kv: z.object({
        kind: z.enum(["split", "unified"]),
        cells: count,
        cells_used: count,
        cells_reserved: count.describe("Flex and batch leave them to online work when they start."),
        prefixes: count.describe("Of ended sequences, kept for those that begin alike."),
        prefix_cells: count.describe("Cells that these alone hold."),
      }),
      sequences: z.object({
        most: count.describe("--sequences"),
        reserved: count.describe("Flex and batch leave them to online work."),
        running: byTier,
        waiting: byTier,
      }),
    })
    .nullable()
    .describe("Null while the engine is not ready, or does not answer within 2 s."),
});
export type EngineReport = z.infer<typeof engineReport>;

export const engineList = z.object({ object: z.literal("list"), data: z.array(engineReport) });
export type EngineList = z.infer<typeof engineList>;
