import { type Sample, Scrape } from "../api/scrape.ts";

/** One metric with its help and labels at /metrics. */
export interface ServedMetric {
  name: string;
  type: string;
  help: string;
  /** Without `le`. */
  labels: Set<string>;
}

/** The series of several scrapes: some exist only at times. */
export class Served {
  readonly metrics = new Map<string, ServedMetric>();
  /** The values of each label, by the name of the series (with _bucket, _sum, _count). */
  readonly #series = new Map<string, Map<string, Set<string>>>();

  add(text: string): void {
    for (const [, name = "", help = ""] of text.matchAll(/^# HELP (\S+) (.*)$/gm)) {
      const type = new RegExp(`^# TYPE ${name} (\\w+)$`, "m").exec(text)?.[1] ?? "untyped";
      if (!this.metrics.has(name)) this.metrics.set(name, { name, type, help, labels: new Set() });
    }
    for (const sample of new Scrape(text).samples) this.#addSample(sample);
  }

  has(series: string): boolean {
    return this.#series.has(series);
  }

  labelsOf(series: string): string[] {
    return [...(this.#series.get(series)?.keys() ?? [])];
  }

  valuesOf(series: string, label: string): string[] {
    return [...(this.#series.get(series)?.get(label) ?? [])];
  }

  #addSample({ name, labels }: Sample): void {
    const known = this.#series.get(name) ?? new Map<string, Set<string>>();
    this.#series.set(name, known);
    const metric = this.metrics.get(name) ?? this.metrics.get(name.replace(/_(bucket|sum|count)$/, ""));
    for (const [label, value] of Object.entries(labels)) {
      known.set(label, (known.get(label) ?? new Set()).add(value));
      if (label !== "le") metric?.labels.add(label);
    }
  }
}
