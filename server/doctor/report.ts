import type { LoadedFacts, LocalFacts, ModelFacts } from "../../engine/protocol/config.ts";
import { type Advice, advise } from "./advice.ts";
import type { Machine } from "./machine.ts";
import type { UpstreamCheck } from "./upstream-check.ts";

export type ModelResult =
  | { model: string; ok: true; facts: LoadedFacts; loadMs: number; warnings: string[] }
  | { model: string; ok: false; reason: string };

/** An upstream with the notes on what to change. */
export type UpstreamResult = UpstreamCheck & { notes: string[] };

export interface DoctorReport {
  ok: boolean;
  version: string;
  machine: Machine;
  models: (ModelResult & { advice: Advice | null })[];
  upstreams: UpstreamResult[];
}

export function makeReport(
  version: string,
  machine: Machine,
  results: readonly ModelResult[],
  upstreams: UpstreamResult[] = [],
): DoctorReport {
  const models = results.map((result) => ({ ...result, advice: result.ok ? advise(result.facts, machine) : null }));
  const answering = upstreams.every(({ replicas }) => replicas.every(({ failure }) => failure === null));
  return { ok: answering && models.every((model) => model.ok), version, machine, models, upstreams };
}

const WHAT_TO_DO = `A check failed: see above. Frequent solutions:
  - damaged or truncated file: download or copy the model again
  - model newer than this llama.cpp: set --llama-dir to a newer build with the same interface
  - too little memory: lower --context or --sequences, or set --cache-type-k q8_0 --cache-type-v q8_0
  - replica of an upstream: see its notes`;

/** The report as text. */
export function reportText({ ok, version, machine, models, upstreams }: DoctorReport): string {
  const lines = [`Nightshift ${version}`, ""];
  lines.push(
    ...table("Machine", [
      ["platform", machine.platform],
      ["Node.js", machine.node],
      ["CPU", `${machine.cpu}, ${machine.cores} cores`],
      ["memory", `${gigabytes(machine.memory)}, ${gigabytes(machine.freeMemory)} free`],
    ]),
  );
  for (const model of models) {
    lines.push(...modelText(model, machine));
    if (model.advice !== null) {
      lines.push(
        ...table(
          "Recommended settings",
          Object.entries(model.advice.settings).map(([k, v]) => [k, String(v)]),
        ),
      );
      lines.push(...noteLines(model.advice.notes));
    }
  }
  for (const upstream of upstreams) lines.push(...upstreamLines(upstream));
  const noted = upstreams.some(({ notes }) => notes.length > 0);
  lines.push(
    ok ? (noted ? "No check failed; the notes on upstreams say what to change." : "All checks passed.") : WHAT_TO_DO,
  );
  return `${lines.join("\n")}\n`;
}

function noteLines(notes: readonly string[]): string[] {
  return notes.length === 0 ? [] : [...notes.map((note) => `  - ${note}`), ""];
}

function upstreamLines({ name, kind, replicas, notes }: UpstreamResult): string[] {
  const [listed] = replicas.flatMap(({ models }) => (models === null ? [] : [models]));
  const models = listed ?? [];
  return [
    ...table(`Upstream ${name}`, [
      ["kind", kind ?? "not known"],
      ...models.map(({ id, context }): [string, string] => {
        return ["model", `${id}${context === null ? "" : `; context ${count(context)} tokens`}`];
      }),
      ...replicas.map((replica): [string, string] => ["replica", `${replica.url}: ${replicaText(replica)}`]),
    ]),
    ...noteLines(notes),
  ];
}

function replicaText({ failure, metrics }: UpstreamCheck["replicas"][number]): string {
  if (failure !== null) return "failed";
  return `answers${metrics === true ? ", its load can be read" : ""}`;
}

/** The lines on a model and its memory, or on why it cannot be loaded. */
export function modelText(model: ModelResult, machine: Machine): string[] {
  if (model.ok) return factsText(model, machine);
  return table(`Model ${model.model}: failed`, [["reason", model.reason.replaceAll("\n", "\n              ")]]);
}

function factsText(result: Extract<ModelResult, { ok: true }>, machine: Machine): string[] {
  const { facts, loadMs, warnings } = result;
  const { local } = facts;
  const perCell = local.cells === 0 ? 0 : Math.round(local.cacheBytes / local.cells);
  const total = local.bytes + local.cacheBytes;
  return [
    ...table("Engine", [
      ["build", local.build],
      ["library", local.libraryDir],
      ["ABI", "matches (struct sizes and defaults read back as expected)"],
      ["backend", local.devices.length === 0 ? local.backend : `${local.backend} on ${local.devices.join(", ")}`],
    ]),
    ...table(`Model ${facts.model}`, [
      ["file", local.path],
      ["kind", `${facts.description} (${local.architecture}, ${local.parameters.toLocaleString("en-US")} parameters)`],
      ["context", `${count(facts.context)} tokens; trained for ${count(local.trainedContext)}`],
      ["vocabulary", count(facts.vocabulary ?? 0)],
      ["tool calls", toolCallsText(facts)],
      [
        "reasoning",
        facts.reasoningTags === null ? "no tags" : `${facts.reasoningTags.open} … ${facts.reasoningTags.close}`,
      ],
      ["template", templateText(local)],
      ["infill", facts.infill ? "fill-in-the-middle tokens" : "no fill-in-the-middle tokens"],
      ["attention", `${local.memory}: prefixes are reused ${reuseOf(local.memory)}`],
      ["loaded in", `${(loadMs / 1000).toFixed(1)} s`],
      ...warnings.map((warning): [string, string] => ["warning", warning]),
    ]),
    ...table("Steps", stepRows(facts, local)),
    ...table("Memory plan", [
      ["weights", gigabytes(local.bytes)],
      [
        "KV cache",
        `${gigabytes(local.cacheBytes)} = ${count(local.cells)} cells × ${count(perCell)} bytes (${local.kv}, ${facts.sequences} sequences)`,
      ],
      ["prefix offload", local.parkBytes === 0 ? "off" : `up to ${gigabytes(local.parkBytes)} of host memory`],
      ["total", `${gigabytes(total)} of ${gigabytes(machine.freeMemory)} free memory`],
    ]),
  ];
}

/** The points at which requests reuse prefixes of each other's prompts. */
export function reuseOf(memory: LocalFacts["memory"]): string {
  return memory === "full" ? "from any token on" : "at checkpoints";
}

function toolCallsText({ generates, takesTools, toolFormat }: ModelFacts): string {
  if (!generates) return "none";
  return takesTools ? toolFormat : "refused";
}

function templateText({ chatTemplate, templateFile }: LocalFacts): string {
  if (templateFile !== null) return `from ${templateFile}`;
  return chatTemplate ? "from the model file" : "none; ChatML is used instead";
}

/** Rows on the computation of steps, and the resulting objectives. */
function stepRows(
  { objectives, generates }: ModelFacts,
  { flashAttention, calibration }: LocalFacts,
): [string, string][] {
  const timed =
    calibration === null
      ? "nothing was timed"
      : `${count(calibration.steps)} shapes timed ${calibration.ms === 0 ? "at an earlier start" : `in ${(calibration.ms / 1000).toFixed(1)} s`}`;
  const chunks =
    calibration !== null && calibration.tileRows > 1 ? `; chunks of ${calibration.tileRows} and more tokens` : "";
  if (!generates) return [["flash attention", flashAttention]];
  return [
    ["calibration", `${timed}${chunks}`],
    ["flash attention", flashAttention],
    ["objectives", `first token ${count(objectives.ttftMs)} ms, between two tokens ${count(objectives.itlMs)} ms`],
  ];
}

function table(title: string, rows: readonly (readonly [string, string])[]): string[] {
  return [title, ...rows.map(([name, value]) => `  ${name.padEnd(17)}${value}`), ""];
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}

function gigabytes(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}
