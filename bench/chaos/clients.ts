import { setTimeout as wait } from "node:timers/promises";
import type { Random } from "../base/random.ts";
import type { OnlineAccount } from "../batch/books.ts";
import { json } from "../target/call.ts";
import { HttpFailure } from "../target/stream.ts";
import type { ChaosServer } from "./chaos-server.ts";

/** Milliseconds after an intended failure in which requests may fail. */
const RECOVERS_WITHIN_MS = 30_000;
/** Milliseconds before a kill for which ledger rows of answers may be lost. */
const BOOKED_WITHIN_MS = 1000;
/** Statuses of rejected requests. */
const REFUSALS = [429, 503];

/** The run's requests, counted by their results. */
export class ChaosClients {
  readonly account: OnlineAccount = { answered: 0, left: 0, failed: 0, completionTokens: 0 };
  readonly refused = new Map<number, number>();
  readonly failures: string[] = [];
  readonly #server: ChaosServer;
  readonly #answers: { at: number; tokens: number }[] = [];

  constructor(server: ChaosServer) {
    this.#server = server;
  }

  /** Requests and tokens that may be missing in the ledger, because a kill followed. */
  get unbooked(): { requests: number; tokens: number } {
    const late = this.#answers.filter(({ at }) =>
      this.#server.brokenAt.some((broken) => at <= broken && at > broken - BOOKED_WITHIN_MS),
    );
    return { requests: late.length, tokens: late.reduce((sum, { tokens }) => sum + tokens, 0) };
  }

  /** Sends one chat or completion; `leaveAfterMs` closes the connection after that time. */
  async ask(path: string, body: Record<string, unknown>, leaveAfterMs: number | null = null): Promise<void> {
    const leaving = leaveAfterMs === null ? null : new AbortController();
    const timer = leaving && setTimeout(() => leaving.abort(), leaveAfterMs!);
    try {
      const response = await fetch(new URL(path, this.#server.base), { ...json(body), signal: leaving?.signal });
      const text = await response.text();
      if (response.status === 200) this.#answered(text);
      else this.#failed(response.status, text);
    } catch (error) {
      if (leaving?.signal.aborted) this.account.left++;
      else this.#broken(error);
    } finally {
      clearTimeout(timer ?? undefined);
    }
  }

  /** Sends a raw body; any status below 500 is accepted. */
  async send(path: string, body: string, headers: Record<string, string> = {}): Promise<void> {
    try {
      const response = await fetch(new URL(path, this.#server.base), {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body,
      });
      const text = await response.text();
      if (response.status === 200 && path === "chat/completions") this.#answered(text);
      else if (response.status >= 500) this.#failed(response.status, text);
    } catch (error) {
      this.#broken(error);
    }
  }

  #answered(text: string): void {
    const event = text.startsWith("data:") ? lastUsage(text) : JSON.parse(text);
    const tokens = event?.usage?.completion_tokens;
    if (tokens === undefined) {
      this.#broken(new Error(`an answer brought no usage: ${text.slice(-200)}`));
      return;
    }
    this.account.answered++;
    this.account.completionTokens += tokens;
    this.#answers.push({ at: performance.now(), tokens });
  }

  #failed(status: number, text: string): void {
    this.account.failed++;
    this.refused.set(status, (this.refused.get(status) ?? 0) + 1);
    if (!REFUSALS.includes(status)) this.#unexpected(new HttpFailure("chaos", status, undefined, text));
  }

  #broken(error: unknown): void {
    this.account.failed++;
    this.#unexpected(error);
  }

  /** Records a failure unless it follows an intended one. */
  #unexpected(error: unknown): void {
    const now = performance.now();
    if (this.#server.brokenAt.some((at) => now - at < RECOVERS_WITHIN_MS)) return;
    const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : "";
    this.failures.push(`${String(error)}${cause}`);
  }
}

function lastUsage(text: string): { usage?: { completion_tokens?: number } } | undefined {
  const events = text.split("\n").filter((line) => line.startsWith("data: {"));
  return events.map((line) => JSON.parse(line.slice(6))).findLast(({ usage }) => usage);
}

/** A short pause between the requests of one client. */
export function pause(random: Random): Promise<void> {
  return wait(random.integer(0, 200));
}
