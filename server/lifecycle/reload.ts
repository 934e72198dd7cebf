import type { Log } from "../../platform/log.ts";
import { OptionsError } from "../../platform/options-error.ts";
import { changesBetween } from "../options/live.ts";
import type { Options } from "../options/table.ts";

export interface ReloadWork {
  /** Reads the options anew, from where they came at the start. Rejects with OptionsError. */
  read(): Promise<Options>;
  /** Takes over what may change while the server runs. */
  apply(options: Options): void;
  log: Log;
}

/** Options that are read again while the server runs. One that can't be used changes nothing. */
export class Reload {
  readonly #work: ReloadWork;
  #options: Options;
  #last: Promise<void> = Promise.resolve();

  constructor(options: Options, work: ReloadWork) {
    this.#options = options;
    this.#work = work;
  }

  /** As they were last read: of those that need a restart, what the next start would have. */
  get options(): Options {
    return this.#options;
  }

  /** One after the other: the last one asked for sees the file as it is by then. */
  request(): Promise<void> {
    this.#last = this.#last.then(() => this.#run());
    return this.#last;
  }

  async #run(): Promise<void> {
    const { read, apply, log } = this.#work;
    let next: Options;
    try {
      next = await read();
    } catch (error) {
      if (!(error instanceof OptionsError)) throw error;
      log.error({ reason: error.message }, "The options were not reloaded: nothing was changed");
      return;
    }
    const { live, restart } = changesBetween(this.#options, next);
    apply(next);
    this.#options = next;
    log.info({ changed: live }, live.length > 0 ? "Options were reloaded" : "Options were reloaded: none changed");
    if (restart.length > 0) log.warn({ options: restart }, "These options changed too, which takes a restart");
  }
}
