/** Online requests of one model that the engine has and has not ended, by whether a sequence of theirs has started. */
export class Load {
  waiting = 0;
  running = 0;
  /** Since the server started. */
  arrived = 0;
  /** Mean milliseconds from start to end of late requests; 0 until one has ended. */
  meanRunMs = 0;

  /** Milliseconds until `waiting` requests have started, as far as the late past tells. */
  get expectedWaitMs(): number {
    return (this.waiting * this.meanRunMs) / Math.max(1, this.running);
  }

  arrive(): void {
    this.arrived++;
    this.waiting++;
  }

  ended(runMs: number): void {
    this.meanRunMs = this.meanRunMs === 0 ? runMs : this.meanRunMs + (runMs - this.meanRunMs) / 16;
  }
}

/** One load per model. */
export class Loads {
  readonly #byModel = new Map<string, Load>();

  of(model: string): Load {
    let load = this.#byModel.get(model);
    if (load === undefined) {
      load = new Load();
      this.#byModel.set(model, load);
    }
    return load;
  }
}
