/** The terminal of a progress bar; process.stderr fits. */
export interface ProgressTerminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export interface Progress {
  /** Both in bytes; a total of 0 is unknown. */
  update(done: number, total: number): void;
  end(): void;
}

export interface ProgressDeps {
  terminal: ProgressTerminal;
  /** Writes one line, without a terminal. */
  log: (line: string) => void;
  /** Milliseconds of a clock that never goes back. */
  now?: () => number;
}

const REDRAW_MS = 100;
const LINE_MS = 10_000;
const LINE_SHARE = 0.1;
const BAR_WIDTH = 24;

/** Progress in bytes: a redrawn bar on a terminal, else a line per tenth or per ten seconds. */
export function startProgress(what: string, deps: ProgressDeps): Progress {
  const now = deps.now ?? (() => performance.now());
  return deps.terminal.isTTY ? drawnBar(what, deps.terminal, now) : loggedLines(what, deps.log, now);
}

function drawnBar(what: string, terminal: ProgressTerminal, now: () => number): Progress {
  const rate = new Rate(now);
  let drawnAt = Number.NEGATIVE_INFINITY;
  let drawn = false;
  return {
    update(done, total) {
      rate.note(done);
      const complete = total > 0 && done >= total;
      if (!complete && now() - drawnAt < REDRAW_MS) return;
      drawnAt = now();
      drawn = true;
      const filled = total > 0 ? Math.min(BAR_WIDTH, Math.round((done / total) * BAR_WIDTH)) : 0;
      const bar = "█".repeat(filled) + "░".repeat(BAR_WIDTH - filled);
      const line = `${what} ${bar} ${describe(done, total, rate.perSecond(done))}`;
      // A wrapped line could not be redrawn.
      terminal.write(`\r\x1b[2K${line.slice(0, (terminal.columns ?? 80) - 1)}`);
    },
    end() {
      if (drawn) terminal.write("\n");
    },
  };
}

function loggedLines(what: string, log: (line: string) => void, now: () => number): Progress {
  const rate = new Rate(now);
  let loggedAt = Number.NEGATIVE_INFINITY;
  let loggedTenth = -1;
  return {
    update(done, total) {
      rate.note(done);
      const tenth = total > 0 ? Math.floor(done / total / LINE_SHARE + 1e-9) : 0;
      if (tenth === loggedTenth && now() - loggedAt < LINE_MS) return;
      loggedAt = now();
      loggedTenth = tenth;
      log(`${what} ${describe(done, total, rate.perSecond(done))}`);
    },
    end() {},
  };
}

/** The mean rate since the first report, so that the bytes of an earlier, interrupted run do not count. */
class Rate {
  readonly #now: () => number;
  #first: { done: number; at: number } | null = null;

  constructor(now: () => number) {
    this.#now = now;
  }

  note(done: number): void {
    this.#first ??= { done, at: this.#now() };
  }

  perSecond(done: number): number {
    if (this.#first === null) return 0;
    const ms = this.#now() - this.#first.at;
    return ms < 500 ? 0 : ((done - this.#first.done) * 1000) / ms;
  }
}

function describe(done: number, total: number, perSecond: number): string {
  const parts = [
    total > 0 ? `${Math.floor((done / total) * 100)} %, ${bytesText(done)} of ${bytesText(total)}` : bytesText(done),
  ];
  if (perSecond > 0) {
    parts.push(`${bytesText(perSecond)}/s`);
    if (total > done) parts.push(`${duration((total - done) / perSecond)} left`);
  }
  return parts.join(", ");
}

export function bytesText(count: number): string {
  if (count >= 1e9) return `${(count / 1e9).toFixed(2)} GB`;
  if (count >= 1e6) return `${(count / 1e6).toFixed(1)} MB`;
  return count >= 1e4 ? `${Math.round(count / 1e3)} kB` : `${Math.round(count)} bytes`;
}

function duration(seconds: number): string {
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return seconds >= 60 ? `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s` : `${Math.ceil(seconds)} s`;
}
