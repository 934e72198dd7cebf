import { crc32 } from "node:zlib";
import { fieldsOf, listOf } from "./asked.ts";
import type { Misbehaviour } from "./misbehaviour.ts";
import type { SeenRequest } from "./seen-request.ts";

const WRONGS: readonly Misbehaviour[] = [
  { kind: "status", status: 429, headers: { "retry-after-ms": "20" } },
  { kind: "status", status: 503 },
  { kind: "status", status: 529 },
  { kind: "status", status: 500 },
  { kind: "status", status: 502 },
  { kind: "overloaded" },
  { kind: "not json" },
  { kind: "in-band error", after: 0, event: { error: { message: "The request queue is full." }, code: 503 } },
  { kind: "in-band error", after: 2, event: { error: { message: "It broke." } } },
  { kind: "half chunk", after: 0 },
  { kind: "half chunk", after: 1 },
  { kind: "close", after: 1 },
  { kind: "reset", after: "headers" },
  { kind: "reset", after: 2 },
  { kind: "pause", after: 1, ms: 50 },
  { kind: "pieces", bytes: 7 },
  { kind: "no done" },
];
/** Most times that one prompt is answered wrongly; a line is given up at the fifth fault. */
const MOST_WRONG = 3;

/**
 * Misbehaves at a third of the prompts, one to three times at each, in ways that follow from the prompt and the seed alone.
 * @param stalls some of the wrong answers then never end
 */
export function faulty(seed: number, stalls = false): (request: SeenRequest) => Misbehaviour | null {
  const asked = new Map<string, number>();
  const wrongs: readonly Misbehaviour[] = stalls ? [...WRONGS, { kind: "stall", after: 1 }] : WRONGS;
  return ({ body }) => {
    const prompt = JSON.stringify(listOf(fieldsOf(body).messages));
    const nth = asked.get(prompt) ?? 0;
    asked.set(prompt, nth + 1);
    const times = crc32(`${seed} times ${prompt}`) % (MOST_WRONG * 3);
    return nth >= times || times > MOST_WRONG ? null : wrongs[crc32(`${seed} ${nth} ${prompt}`) % wrongs.length]!;
  };
}
