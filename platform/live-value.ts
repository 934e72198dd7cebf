/** A value that may be replaced while its readers run. Read `current` at each use: a copy of it goes stale. */
export interface Live<T> {
  readonly current: T;
}

/** The one place in which a live value is replaced. */
export class LiveValue<T> implements Live<T> {
  #current: T;
  readonly #watchers: ((next: T) => void)[] = [];

  constructor(first: T) {
    this.#current = first;
  }

  get current(): T {
    return this.#current;
  }

  replace(next: T): void {
    this.#current = next;
    for (const watcher of this.#watchers) watcher(next);
  }

  /** Calls `watcher` with each later value, for parts that keep state made of it. */
  watch(watcher: (next: T) => void): void {
    this.#watchers.push(watcher);
  }

  /** Value that `derive` makes of the current one, computed once for each value. */
  map<U>(derive: (value: T) => U): Live<U> {
    const derived = new LiveValue(derive(this.#current));
    this.watch((next) => derived.replace(derive(next)));
    return derived;
  }
}
