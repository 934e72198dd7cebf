import { NO_TILE, type StepShape, type Tile } from "../cost/step-model.ts";
import type { FlashSetting, ProbeShape, Sample } from "./sample.ts";

/** Tokens of one sequence from which llama.cpp's CPU kernel of flash attention works in tiles (ggml_fa_tile_config::Q). */
export const TILE_ROWS = 64;
/** Tokens of a shorter chunk, as is usual beside streams. */
export const SHORT_ROWS = 16;
/** The tile where no chunk was timed. Measured: 2.3 times with the bundled libraries, 11.7 times with a native build (AMD EPYC). */
const USUAL_TILE: Tile = { rows: TILE_ROWS, below: 4 };
/** The factor by which a tile must be cheaper to be worth a longer chunk. */
const WORTHWHILE = 1.5;
const MOST_BELOW = 64;
/** Tokens of the usual request for which flash attention is chosen. */
const PROMPT_TOKENS = 1000;
const ANSWER_TOKENS = 250;
/** The other setting must take less than this share of the default's time. */
const BETTER = 0.9;

/**
 * Chooses flash attention for a usual request. On a CPU it is a trade-off: with it prompts are faster, without it decodes deep
 * in a context are.
 *
 * @param usual the default
 */
export function chooseFlash(samples: readonly Sample[], usual: FlashSetting): FlashSetting {
  const other = usual === "auto" ? "off" : "auto";
  const common = samples
    .filter(({ flash }) => flash === usual)
    .filter((sample) => msOf(samples, other, sample) !== null);
  const decodes = common.some(({ rows, depth }) => rows === 1 && depth > 0);
  const chunks = common.some(({ rows, depth }) => rows >= TILE_ROWS && depth > 0);
  if (!decodes || !chunks) return usual;
  const cost = (flash: FlashSetting) => {
    const perToken = (chosen: readonly ProbeShape[]) => {
      const each = chosen.map((shape) => msOf(samples, flash, shape)! / (shape.rows * shape.sequences));
      return each.reduce((sum, ms) => sum + ms, 0) / Math.max(1, each.length);
    };
    const prompt = perToken(common.filter(({ rows }) => rows >= TILE_ROWS));
    const answer = perToken(common.filter(({ rows }) => rows === 1));
    return PROMPT_TOKENS * prompt + ANSWER_TOKENS * answer;
  };
  return cost(other) < BETTER * cost(usual) ? other : usual;
}

/** The tile that the timed chunks show. @param tiled whether the setting has tiles where no chunks were timed */
export function tileOf(samples: readonly Sample[], flash: FlashSetting, tiled: boolean): Tile {
  const [long, short] = [attentionMs(samples, flash, TILE_ROWS), attentionMs(samples, flash, SHORT_ROWS)];
  if (long === null || short === null) return tiled ? USUAL_TILE : NO_TILE;
  const below = Math.min(MOST_BELOW, short / Math.max(long, short / MOST_BELOW));
  return below > WORTHWHILE ? { rows: TILE_ROWS, below } : NO_TILE;
}

/** Milliseconds of one position for one token of a chunk; null where that was not timed. */
function attentionMs(samples: readonly Sample[], flash: FlashSetting, rows: number): number | null {
  const deep = samples.find((sample) => sample.flash === flash && sample.rows === rows && sample.depth > 0);
  if (deep === undefined) return null;
  const shallow = msOf(samples, flash, { ...deep, depth: 0 });
  return shallow === null ? null : Math.max(0, (deep.ms - shallow) / (rows * deep.depth));
}

function msOf(samples: readonly Sample[], flash: FlashSetting, shape: ProbeShape): number | null {
  const { rows, sequences, depth } = shape;
  const same = (other: Sample) => other.rows === rows && other.sequences === sequences && other.depth === depth;
  return samples.find((sample) => sample.flash === flash && same(sample))?.ms ?? null;
}

/** Samples of one setting as steps for the step model. */
export function* stepsOf(
  samples: readonly Sample[],
  flash: FlashSetting,
  tile: Tile,
): Generator<{ shape: StepShape; ms: number }> {
  for (const sample of samples) {
    if (sample.flash !== flash) continue;
    const { rows, sequences, depth, ms } = sample;
    const attended = sequences * (rows * depth + (rows * (rows + 1)) / 2);
    const decode = rows === 1;
    const read = attended * (rows < tile.rows ? tile.below : 1);
    const tokens = rows * sequences;
    const shape = decode
      ? { prefill: 0, decode: tokens, kv: attended, read: 0, passes: 1 }
      : { prefill: tokens, decode: 0, kv: 0, read, passes: 1 };
    yield { shape, ms };
  }
}
