import { execFile } from "node:child_process";
import type { Log } from "../../platform/log.ts";

export interface ServiceManagerDeps {
  /** Read for NOTIFY_SOCKET and WATCHDOG_USEC, which systemd sets (sd_notify(3), sd_watchdog_enabled(3)). */
  env: Record<string, string | undefined>;
  log: Log;
  /** Sends a state to systemd, by its own command: Node has no Unix datagram sockets. */
  notify?: (state: string, failed: (error: Error) => void) => void;
}

/** Reports states to systemd if it started this process as `Type=notify`. */
export class ServiceManager {
  readonly #deps: Required<ServiceManagerDeps>;
  readonly #present: boolean;
  #watchdog: NodeJS.Timeout | undefined;

  constructor(deps: ServiceManagerDeps) {
    this.#deps = { notify: systemdNotify, ...deps };
    this.#present = Boolean(deps.env.NOTIFY_SOCKET);
  }

  /** Reports that the server listens, and then twice in each watchdog interval that its event loop runs. */
  ready(): void {
    if (!this.#present) return;
    this.#say("READY=1");
    const watchdogMs = Number(this.#deps.env.WATCHDOG_USEC ?? 0) / 1000;
    if (!(watchdogMs > 0)) return;
    this.#watchdog = setInterval(() => this.#say("WATCHDOG=1"), watchdogMs / 2);
    this.#watchdog.unref();
  }

  stopping(): void {
    clearInterval(this.#watchdog);
    if (this.#present) this.#say("STOPPING=1");
  }

  #say(state: string): void {
    this.#deps.notify(state, (error) => {
      this.#deps.log.warn({ reason: error.message, state }, "The state of the server could not be sent to systemd");
    });
  }
}

function systemdNotify(state: string, failed: (error: Error) => void): void {
  execFile("systemd-notify", [state], { timeout: 10_000 }, (error) => {
    if (error !== null) failed(error);
  });
}
