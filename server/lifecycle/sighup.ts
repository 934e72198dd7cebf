import { closeSync, openSync } from "node:fs";
import { isatty } from "node:tty";

export interface HangupHandlers {
  reload(): void;
  /** The terminal was closed. */
  closed(): void;
}

/**
 * Tells what a SIGHUP means: a reload, as an operator or service manager asks for it, or that the terminal which the
 * server was started in was closed, which ends a program. The terminal of a process is `/dev/tty`, which can't be opened
 * any more after the second. A server none of whose standard streams is a terminal, as under nohup, outlives that: nohup has
 * SIGHUP ignored, which Node undoes. Windows knows only the second.
 */
export class Hangup {
  #handlers: HangupHandlers | null = null;
  #reloadAsked = false;
  readonly #hasTerminal: () => boolean;
  readonly #had: boolean;
  readonly #platform: NodeJS.Platform;
  #ended = false;

  constructor(
    hasTerminal: () => boolean = canOpenTerminal,
    platform: NodeJS.Platform = process.platform,
    onTerminal: () => boolean = usesTerminal,
  ) {
    this.#hasTerminal = hasTerminal;
    this.#platform = platform;
    this.#had = onTerminal() && hasTerminal();
  }

  /**
   * Takes SIGHUP from now on, so that one that comes while the server starts does not end it: a reload is remembered until
   * there are handlers, and a terminal that is closed before ends the process.
   */
  listen(events: { on(event: "SIGHUP", listener: () => void): unknown } = process): this {
    events.on("SIGHUP", () => {
      const closed = this.heard();
      if (closed && this.#handlers === null) this.exit(1);
      else if (closed) this.#handlers?.closed();
      else if (this.#handlers === null) this.#reloadAsked = true;
      else this.#handlers.reload();
    });
    return this;
  }

  /** What follows from now on, and at once where a reload was asked for before. */
  handle(handlers: HangupHandlers): void {
    this.#handlers = handlers;
    if (this.#reloadAsked) handlers.reload();
    this.#reloadAsked = false;
  }

  /** True when a SIGHUP that has just come says that the terminal is gone. */
  heard(): boolean {
    this.#ended = this.#platform === "win32" || (this.#had && !this.#hasTerminal());
    return this.#ended;
  }

  /** Ends the process; by the signal itself where it came, for Node's exit aborts when its terminal is gone. */
  exit(code: number): void {
    if (!this.#ended || this.#platform === "win32") process.exit(code);
    process.removeAllListeners("SIGHUP");
    process.kill(process.pid, "SIGHUP");
  }
}

function usesTerminal(): boolean {
  return [0, 1, 2].some((stream) => isatty(stream));
}

function canOpenTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
}
