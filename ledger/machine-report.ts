import type { MachineBucket, MachineResult } from "../openapi/resources/organization-usage.ts";
import type { BusyTime, MachineSums } from "../store/tables/machine-time.ts";
import type { MachinePrice } from "./prices.ts";

const US_PER_SECOND = 1e6;
const SECONDS_PER_HOUR = 3600;
const MILLION = 1e6;

/**
 * Attribution of one bucket's machine time. Engines that compute at a time share the machine: where their busy time
 * exceeds the uptime, it is scaled to the uptime and idle time is zero. (A single engine can exceed it by one step,
 * because a step's time is counted at its end.)
 */
export class MachineShare {
  readonly #busy: readonly BusyTime[];
  readonly #upSeconds: number;
  readonly #scale: number;
  readonly #price: MachinePrice;

  constructor(sums: MachineSums, bucket: number, price: MachinePrice) {
    this.#busy = sums.busy.filter((time) => time.bucket === bucket);
    const upUs = sums.up.find((time) => time.bucket === bucket)?.upUs ?? 0;
    const busyUs = this.#busy.reduce((sum, time) => sum + time.busyUs, 0);
    this.#upSeconds = upUs / US_PER_SECOND;
    this.#scale = busyUs > upUs ? upUs / busyUs : 1;
    this.#price = price;
  }

  /** Accounts with busy time. */
  get accounts(): readonly BusyTime[] {
    return this.#busy;
  }

  /** Time and cost of the accounts that match, which computed `tokens` tokens. */
  result(of: (time: BusyTime) => boolean, tokens: number): MachineResult {
    const seconds = this.#seconds(of);
    return { seconds, ...this.#cost(seconds, tokens) };
  }

  /** Time and cost of the whole bucket, with idle time. */
  bucket(tokens: number): MachineBucket {
    const up = this.#upSeconds;
    const online = this.#seconds(({ tier }) => tier === "priority" || tier === "default");
    const flex = this.#seconds(({ tier }) => tier === "flex");
    const batch = this.#seconds(({ tier }) => tier === "batch");
    const idle = Math.max(0, up - online - flex - batch);
    return {
      up_seconds: up,
      seconds: { online, flex, batch, idle },
      idle_share: up === 0 ? null : idle / up,
      ...this.#cost(up, tokens),
    };
  }

  #seconds(of: (time: BusyTime) => boolean): number {
    const us = this.#busy.reduce((sum, time) => sum + (of(time) ? time.busyUs : 0), 0);
    return (us * this.#scale) / US_PER_SECOND;
  }

  #cost(seconds: number, tokens: number) {
    const usd = (perHour: number | null) => (perHour === null ? null : (perHour * seconds) / SECONDS_PER_HOUR);
    const perMillion = (cost: number | null) => (cost === null || tokens === 0 ? null : (cost / tokens) * MILLION);
    const [onDemand, spot] = [usd(this.#price.onDemand), usd(this.#price.spot)];
    return {
      usd: onDemand,
      spot_usd: spot,
      usd_per_million_tokens: perMillion(onDemand),
      spot_usd_per_million_tokens: perMillion(spot),
    };
  }
}
