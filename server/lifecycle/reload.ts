import type { LiveValue } from "../../platform/live-value.ts";
import type { Log } from "../../platform/log.ts";
import { OptionsError } from "../../platform/options-error.ts";
import { changesBetween } from "../options/live-options.ts";
import type { Options } from "../options/table.ts";

export interface ReloadWork {
  /** Reads the options again, from the sources of the start. Rejects with OptionsError. */
  read(): Promise<Options>;
  log: Log;
}

/**
 * Reads the options again while the server runs and replaces the live ones; a bad value changes nothing. Of options that
 * need a restart the live value has what the next start would have.
 */
export class Reload {
  readonly #work: ReloadWork;
  readonly #options: LiveValue<Options>;
  #last: Promise<void> = Promise.resolve();

  constructor(options: LiveValue<Options>, work: ReloadWork) {
    this.#options = options;
    this.#work = work;
  }

  /** Requests run one after the other, so that the last one reads the file as it is by then. */
  request(): Promise<void> {
    this.#last = this.#last.then(() => this.#run());
    return this.#last;
  }

  async #run(): Promise<void> {
    const { read, log } = this.#work;
    let next: Options;
    try {
      next = await read();
    } catch (error) {
      if (!(error instanceof OptionsError)) throw error;
      log.error({ reason: error.message }, "The options were not reloaded: nothing was changed");
      return;
    }
    const { live, restart } = changesBetween(this.#options.current, next);
    this.#options.replace(next);
    log.info({ changed: live }, live.length > 0 ? "Options were reloaded" : "Options were reloaded: none changed");
    if (restart.length > 0) log.warn({ options: restart }, "These options changed too, which takes a restart");
  }
}
