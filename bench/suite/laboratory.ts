import { Random } from "../base/random.ts";
import { figure } from "../base/table.ts";
import type { Target } from "../target/target.ts";
import { bestArm } from "./best-arm.ts";
import { measureCapacity } from "./load/online-load.ts";
import type { Laboratory } from "./scenario.ts";

/** Rounds per client of a capacity measurement, about. */
const ROUNDS = 3;

/** Adds measurements that several scenarios share; each is made once, on its first use. */
export function laboratory(given: Omit<Laboratory, "capacity" | "bestPeer">): Laboratory {
  const { preset, traffic, seed, peers, say } = given;
  const measured = new Map<Target, Promise<number>>();
  const measure = async (target: Target) => {
    // the same lengths for all servers
    const random = new Random(seed, 50);
    const count = preset.clients * ROUNDS;
    const arrivals = traffic.draw(1, 2 * count, random).slice(0, count);
    const capacity = await measureCapacity(target, arrivals, preset.clients, random);
    say(`capacity of ${target.label}: ${figure(capacity)} requests/s`);
    return capacity;
  };
  const capacity = (target: Target) => {
    const known = measured.get(target) ?? measure(target);
    measured.set(target, known);
    return known;
  };
  const bestPeer = async () => {
    const capacities: { peer: Target; rate: number }[] = [];
    for (const peer of peers) capacities.push({ peer, rate: await capacity(peer) });
    return bestArm(capacities, ({ rate }) => rate, "most")?.peer ?? null;
  };
  return { ...given, capacity, bestPeer };
}
