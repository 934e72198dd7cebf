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
      .describe(
        "Steps measured since the start of the engine: `prefill` with prompt tokens, `decode` with decodes alone.",
      ),
    error: z
      .object({ median: z.number().min(0), mean: z.number().min(0), overrun: z.number().min(1) })
      .describe(
        "`median` and `mean` of |measured - predicted| / measured over the last 256 steps. `overrun`: the quotient " +
          "measured / predicted that 19 of 20 steps of flex and batch alone do not exceed.",
      ),
    reach: z
      .object({ prefill: count, decode: count })
      .describe("Most tokens of each kind that flex and batch may have in one step: twice the most that was measured."),
    fit: z
      .object({
        o: ms.describe("ms per step"),
        p: ms.describe("ms per prompt token"),
        d: ms.describe("ms per decode"),
        k: ms.describe("ms per position that a decode attends over"),
        r: ms.describe("ms per position that a prompt token attends over"),
        m: ms.describe(
          "ms per pass over the weights after the first; more than one pass occurs with a split cache only",
        ),
      })
      .nullable()
      .describe("Null until 16 steps of decodes alone have been measured."),
  })
  .describe("step = o + p * prefill + d * decode + k * kv + r * read + m * (passes - 1), fitted to measured steps.");

const caps = z.object({
  alone: z
    .object({ step_ms: ms, decodes: count, prefill_tokens: count })
    .describe(
      "Without online work: `step_ms` is --batch-step-ms / overrun; `decodes` and `prefill_tokens` fit into " +
        "step_ms - o, each by itself.",
    ),
  beside_online: z
    .array(z.object({ streams: count, online_ms: ms, step_ms: ms, decodes: count }))
    .describe(
      "By the number of online streams: `online_ms` is their step, `step_ms` what it may take with flex and batch " +
        "(--batch-tax), `decodes` those of flex and batch that fit.",
    ),
});

const batchPrice = z.object({
  batch_size: count,
  step_ms: ms,
  tokens_per_second: ms,
  usd_per_million_tokens: usd,
  spot_usd_per_million_tokens: usd,
  extrapolated: z.boolean().describe("True for batch sizes above `reach`."),
});
export type BatchPrice = z.infer<typeof batchPrice>;

const forecast = z.object({
  context_tokens: count.describe("Assumed tokens of each sequence, prompt and answer, with no prefix in common."),
  machine_usd_per_hour: usd,
  machine_spot_usd_per_hour: usd,
  batch_sizes: z.array(batchPrice).describe("Steps of decodes alone; prefill is not included."),
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
        .describe("The present objectives: --slo-ttft-ms and --slo-itl-ms, or the values derived for `auto`."),
      caps: caps.nullable().describe("Null without a fit."),
      forecast: forecast.nullable().describe("Null without a fit."),
      kv: z.object({
        kind: z.enum(["split", "unified"]),
        cells: count,
        cells_used: count,
        cells_reserved: count.describe(
          "Cells reserved for online work: flex and batch sequences start only beside them.",
        ),
        prefixes: count.describe("Cached prefixes of ended sequences."),
        prefix_cells: count.describe("Cells that only cached prefixes hold."),
      }),
      sequences: z.object({
        most: count.describe("The value of --sequences."),
        reserved: count.describe("Sequences reserved for online work."),
        running: byTier,
        waiting: byTier,
      }),
    })
    .nullable()
    .describe("Null while the engine is not ready, or when it does not answer within 2 s."),
});
export type EngineReport = z.infer<typeof engineReport>;

export const engineList = z.object({ object: z.literal("list"), data: z.array(engineReport) });
export type EngineList = z.infer<typeof engineList>;
