import type { EngineStatus, StepOutlook } from "../../engine/protocol/status.ts";
import type { MachinePrice } from "../../ledger/prices.ts";
import type { BatchPrice, EngineReport } from "../../openapi/resources/engine.ts";

/** The status of one engine, as GET /v1/nightshift/engine returns it. */
export function engineStatus(status: EngineStatus, machine: MachinePrice): NonNullable<EngineReport["status"]> {
  const { steps, error, reach, fit, outlook, kv, cells, prefixes, sequences } = status;
  const { running, waiting, objectives } = status;
  return {
    step_model: { steps, error, reach, fit },
    objectives: { ttft_ms: objectives.ttftMs, itl_ms: objectives.itlMs },
    caps: outlook === null ? null : caps(outlook),
    forecast: outlook === null ? null : forecast(outlook, reach.decode, machine),
    kv: {
      kind: kv,
      cells: cells.total,
      cells_used: cells.used,
      cells_reserved: cells.reserved,
      prefixes: prefixes.count,
      prefix_cells: prefixes.cells,
    },
    sequences: { most: sequences.total, reserved: sequences.reserved, running, waiting },
  };
}

function caps({ alone, beside }: StepOutlook) {
  return {
    alone: { step_ms: alone.ms, decodes: alone.decodes, prefill_tokens: alone.prefill },
    beside_online: beside.map(({ streams, onlineMs, ms, decodes }) => {
      return { streams, online_ms: onlineMs, step_ms: ms, decodes };
    }),
  };
}

function forecast({ context, decodes }: StepOutlook, reach: number, { onDemand, spot }: MachinePrice) {
  return {
    context_tokens: context,
    machine_usd_per_hour: onDemand,
    machine_spot_usd_per_hour: spot,
    batch_sizes: decodes.map(({ batch, ms }): BatchPrice => {
      const rate = (1000 * batch) / ms;
      return {
        batch_size: batch,
        step_ms: ms,
        tokens_per_second: rate,
        usd_per_million_tokens: perMillion(onDemand, rate),
        spot_usd_per_million_tokens: perMillion(spot, rate),
        extrapolated: batch > reach,
      };
    }),
  };
}

/** USD per million tokens on a machine that computes `rate` tokens in a second. */
function perMillion(usdPerHour: number | null, rate: number): number | null {
  return usdPerHour === null ? null : (usdPerHour / (3600 * rate)) * 1e6;
}
