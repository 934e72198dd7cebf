import type { Clock } from "../../../platform/clock.ts";
import type { HeaderOf } from "../answer/requested-wait.ts";
import type { RateConfig } from "../dialect/upstream-config.ts";
import { CappedUnits } from "./capped-units.ts";
import { ReportedLimits } from "./reported-limits.ts";

/** Answers over which the excess of tokens over their estimates is averaged. */
const AVERAGED = 16;
/** Milliseconds until flex and batch are looked at again while online requests wait. */
const BEHIND_ONLINE_MS = 500;

/** What one request has used of the caps. */
export interface RateUse {
  /** The request is over, and its tokens are counted. */
  settle(tokens: number): void;
  /** The request was not sent. */
  undo(): void;
}

/** Tokens of a request: by its estimate, and as many as are reserved for it. */
interface Estimate {
  tokens: number;
  reserved: number;
}

interface Waiter {
  estimate: Estimate;
  enter(use: RateUse): void;
}

const UNCAPPED: RateUse = { settle: () => {}, undo: () => {} };

/**
 * The caps of an upstream on requests and tokens per minute, as hosted APIs have them. Online requests are sent in their order as
 * soon as the caps allow. Flex and batch get what is left, and nothing while online requests wait or the upstream reports that
 * little is left. Tokens are reserved by their estimate, and corrected when they are counted.
 */
export class RateCap {
  readonly #clock: Pick<Clock, "now">;
  readonly #requests: CappedUnits | null;
  readonly #tokens: CappedUnits | null;
  readonly #reported: ReportedLimits;
  readonly #waiting = new Set<Waiter>();
  #timer: NodeJS.Timeout | null = null;
  /** The mean of the tokens by which requests have exceeded their estimates: some answers have no bound. */
  #excess = 0;

  constructor({ requestsPerMinute, tokensPerMinute }: RateConfig, clock: Pick<Clock, "now">) {
    this.#clock = clock;
    this.#requests = requestsPerMinute === null ? null : new CappedUnits(requestsPerMinute);
    this.#tokens = tokensPerMinute === null ? null : new CappedUnits(tokensPerMinute);
    this.#reported = new ReportedLimits();
  }

  get capped(): boolean {
    return this.#requests !== null || this.#tokens !== null;
  }

  /** The limits that an answer of the upstream reports. */
  answered(header: HeaderOf): void {
    this.#reported.read(header, this.#clock.now());
  }

  /** Milliseconds until an online request that comes now is sent, behind those that wait. @param tokens estimated */
  onlineWaitMs(tokens: number): number {
    const now = this.#clock.now();
    const ahead = [...this.#waiting].reduce((sum, waiter) => sum + waiter.estimate.reserved, 0);
    return Math.max(
      this.#requests?.waitBehindMs(this.#waiting.size, 1, now) ?? 0,
      this.#tokens?.waitBehindMs(ahead, this.#estimate(tokens).reserved, now) ?? 0,
    );
  }

  /** Milliseconds until the next request of flex or batch may be sent. */
  lowerWaitMs(tokens: number): number {
    const paused = this.#reported.pausedMs(this.#clock.now());
    const behind = this.#waiting.size > 0 ? BEHIND_ONLINE_MS : 0;
    return Math.max(paused, behind, this.#waitMs(false, this.#estimate(tokens)));
  }

  /** Resolves when an online request may be sent, or rejects with the signal's reason. */
  enter(tokens: number, signal: AbortSignal): Promise<RateUse> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(waiter);
        reject(signal.reason);
        this.pump();
      };
      const waiter: Waiter = {
        estimate: this.#estimate(tokens),
        enter: (use) => {
          signal.removeEventListener("abort", leave);
          resolve(use);
        },
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.add(waiter);
      this.pump();
    });
  }

  /** Takes a request of flex or batch, of which `lowerWaitMs` is 0. */
  takeLower(tokens: number): RateUse {
    return this.#take(false, this.#estimate(tokens));
  }

  /** Sends the online requests that the caps allow: called when the first may be sent, and about every second. */
  pump(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    for (const waiter of this.#waiting) {
      const waitMs = this.#waitMs(true, waiter.estimate);
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.pump(), Math.ceil(waitMs));
        this.#timer.unref();
        return;
      }
      this.#waiting.delete(waiter);
      waiter.enter(this.#take(true, waiter.estimate));
    }
  }

  #estimate(tokens: number): Estimate {
    return { tokens, reserved: tokens + Math.round(this.#excess) };
  }

  #waitMs(online: boolean, { reserved }: Estimate): number {
    const now = this.#clock.now();
    const requests = this.#requests?.waitMs(online, 1, now) ?? 0;
    return Math.max(requests, this.#tokens?.waitMs(online, reserved, now) ?? 0);
  }

  #take(online: boolean, estimate: Estimate): RateUse {
    if (!this.capped) return UNCAPPED;
    const now = this.#clock.now();
    const request = this.#requests?.take(online, 1, now);
    const tokens = this.#tokens?.take(online, estimate.reserved, now);
    return {
      settle: (counted) => {
        tokens?.correct(counted);
        this.#excess += (Math.max(0, counted - estimate.tokens) - this.#excess) / AVERAGED;
        this.pump();
      },
      undo: () => {
        request?.correct(0);
        tokens?.correct(0);
        this.pump();
      },
    };
  }
}
