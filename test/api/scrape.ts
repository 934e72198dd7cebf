export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** One reading of /metrics. */
export class Scrape {
  readonly samples: Sample[];

  constructor(text: string) {
    const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    this.samples = lines.map((line) => {
      const [, name, labels, value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (name === undefined) throw new Error(`Not a sample: ${line}`);
      const pairs = [...(labels ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
      return { name, labels: Object.fromEntries(pairs.map(([, key, text]) => [key, text])), value: Number(value) };
    });
  }

  /** Upper bound, in seconds, of the event loop's delays since an earlier reading; infinite past all buckets. */
  longestDelaySince(before: Scrape): number {
    const name = "nightshift_event_loop_delay_seconds_bucket";
    const grown = (le: string) => this.sum(name, { le }) - before.sum(name, { le });
    const bounds = this.samples.filter((sample) => sample.name === name).map(({ labels }) => labels.le ?? "");
    const least = bounds.find((le) => grown(le) === grown("+Inf"));
    return least === undefined || least === "+Inf" ? Number.POSITIVE_INFINITY : Number(least);
  }

  /** The sum over all series of the name with these labels; 0 without one. */
  sum(name: string, labels: Record<string, string> = {}): number {
    const wanted = Object.entries(labels);
    return this.samples
      .filter((sample) => sample.name === name && wanted.every(([key, value]) => sample.labels[key] === value))
      .reduce((total, { value }) => total + value, 0);
  }
}
