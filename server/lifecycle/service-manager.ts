import { execFile } from "node:child_process";
import type { Log } from "../../platform/log.ts";

export interface ServiceManagerDeps {
  /** Read for NOTIFY_SOCKET and WATCHDOG_USEC, which systemd sets (sd_notify(3), sd_watchdog_enabled(3)). */
  env: Record<string, string | undefined>;
  log: Log;
  /** Passes a state on; Node has no datagram sockets of the Unix domain, so systemd's own command does it. */
  notify?: (state: string, failed: (error: Error) => void) => void;
}

/** systemd, where it started this process as `Type=notify`; else nothing. */
export class ServiceManager {
  readonly #deps: Required<ServiceManagerDeps>;
  readonly #present: boolean;
  #watchdog: NodeJS.Timeout | undefined;

  constructor(deps: ServiceManagerDeps) {
    this.#deps = { notify: systemdNotify, ...deps };
    this.#present = Boolean(deps.env.NOTIFY_SOCKET);
  }

  /** The server listens. From now on its event loop has to turn within each half of the watchdog's time. */
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
      this.#deps.log.warn({ reason: error.message, state }, "systemd could not be told of the server's state");
    });
  }
}

function systemdNotify(state: string, failed: (error: Error) => void): void {
  execFile("systemd-notify", [state], { timeout: 10_000 }, (error) => {
    if (error !== null) failed(error);
  });
}
