import { closeSync, openSync } from "node:fs";
import { isatty } from "node:tty";

export interface HangupHandlers {
  reload(): void;
  /** The terminal was closed. */
  closed(): void;
}

/**
 * Distinguishes the two meanings of SIGHUP: a reload that an operator or service manager requests, and the end of the
 * terminal that the server was started in. `/dev/tty`, the terminal of a process, cannot be opened after its end. A server
 * without a terminal as standard stream, as under nohup, outlives it: nohup sets SIGHUP to be ignored, which Node undoes.
 * On Windows SIGHUP has only the second meaning.
 */
export class Hangup {
  #handlers: HangupHandlers | null = null;
  #reloadRequested = false;
  readonly #hasTerminal: () => boolean;
  readonly #hadTerminal: boolean;
  readonly #platform: NodeJS.Platform;
  #terminalClosed = false;

  constructor(
    hasTerminal: () => boolean = canOpenTerminal,
    platform: NodeJS.Platform = process.platform,
    usesTerminal: () => boolean = streamIsTerminal,
  ) {
    this.#hasTerminal = hasTerminal;
    this.#platform = platform;
    this.#hadTerminal = usesTerminal() && hasTerminal();
  }

  /**
   * Handles SIGHUP, so that it does not end a server that is starting. A reload is remembered until `handle` is called; the
   * end of the terminal before that ends the process.
   */
  listen(events: { on(event: "SIGHUP", listener: () => void): unknown } = process): this {
    events.on("SIGHUP", () => {
      const closed = this.isTerminalClosed();
      if (closed && this.#handlers === null) this.exit(1);
      else if (closed) this.#handlers?.closed();
      else if (this.#handlers === null) this.#reloadRequested = true;
      else this.#handlers.reload();
    });
    return this;
  }

  /** Sets the handlers, and reloads at once if a reload was requested before. */
  handle(handlers: HangupHandlers): void {
    this.#handlers = handlers;
    if (this.#reloadRequested) handlers.reload();
    this.#reloadRequested = false;
  }

  /** True if the SIGHUP that has just arrived means that the terminal was closed. */
  isTerminalClosed(): boolean {
    this.#terminalClosed = this.#platform === "win32" || (this.#hadTerminal && !this.#hasTerminal());
    return this.#terminalClosed;
  }

  /** Ends the process; after the end of the terminal by the signal itself, because Node's exit aborts then. */
  exit(code: number): void {
    if (!this.#terminalClosed || this.#platform === "win32") process.exit(code);
    process.removeAllListeners("SIGHUP");
    process.kill(process.pid, "SIGHUP");
  }
}

function streamIsTerminal(): boolean {
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
