import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CLI } from "../target/server-process.ts";
import { AUTHORIZATION } from "../target/target.ts";

const MiB = 1024 * 1024;
/** Parallel uploads of the files for a backup, before the measurement. */
const UPLOADS_AT_ONCE = 5;

/** Kinds of work that one client can request and that must not delay others. */
export const WORK_KINDS = ["bodies", "tokenize", "newlines", "answer", "schemas", "backup"] as const;
export type WorkKind = (typeof WORK_KINDS)[number];

export interface WorkOrder {
  kind: WorkKind;
  base: string;
  model: string;
  /** The server's data directory, for a backup; null when unknown. */
  dataDir: string | null;
}

/** Requests the work. Resolves with the statuses of the responses, each read to its end. */
export function requestWork(order: WorkOrder): Promise<number[]> {
  return Promise.all(REQUESTS[order.kind](order));
}

const REQUESTS: Record<WorkKind, (order: WorkOrder) => Promise<number>[]> = {
  bodies: (order) => bodies().map((extra) => chat(order, extra)),
  tokenize: (order) => {
    const body = JSON.stringify({ model: order.model, prompt: "some words ".repeat((8 * MiB) / 11) });
    return [1, 2, 3].map(() => send(new URL("tokenize", order.base), body, "application/json"));
  },
  newlines: (order) => {
    const form = new FormData();
    form.set("purpose", "batch");
    form.set("file", new Blob(["\n".repeat(60_000_000)]), "newlines.jsonl");
    return [uploaded(order, form)];
  },
  schemas: (order) => schemas().map((extra) => chat(order, extra)),
  backup: (order) => [backedUp(order)],
  answer: (order) => [
    chat(order, '"n":4,"max_tokens":3000,"ignore_eos":true,"logprobs":true,"top_logprobs":20,"temperature":0'),
  ],
};

/** Eight concurrent schemas of 60 Ki characters that the server has not seen. */
function schemas(): string[] {
  return Array.from({ length: 8 }, () => {
    const names = Array.from({ length: 2000 }, (_, i) => `"p${i}":{"type":"string"}`);
    return `"json_schema":{"title":"${randomUUID()}","type":"object","properties":{${names.join()}}}`;
  });
}

/** Backs up files that are deleted meanwhile. */
async function backedUp(order: WorkOrder): Promise<number> {
  if (order.dataDir === null)
    throw new Error("--data-dir names the server's data directory, or --gguf starts a server");
  const ids: string[] = [];
  for (let i = 0; i < 100; i += UPLOADS_AT_ONCE)
    ids.push(...(await Promise.all(Array.from({ length: UPLOADS_AT_ONCE }, () => storedFile(order)))));
  const work = await mkdtemp(join(tmpdir(), "nightshift-backup-"));
  try {
    const args = [CLI, "backup", join(work, "copy"), "--data-dir", order.dataDir];
    const backup = spawn(process.execPath, args, { stdio: "ignore" });
    const over = once(backup, "exit");
    for (const id of ids) {
      const url = new URL(`files/${id}`, order.base);
      const { status } = await fetch(url, { method: "DELETE", headers: AUTHORIZATION });
      if (status !== 200) return status;
    }
    const [code] = (await over) as [number | null];
    return code === 0 ? 200 : 500;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function storedFile({ base }: WorkOrder): Promise<string> {
  const form = new FormData();
  form.set("purpose", "user_data");
  form.set("file", new Blob([new Uint8Array(MiB)]), "file.bin");
  const made = await fetch(new URL("files", base), { method: "POST", headers: AUTHORIZATION, body: form });
  const { id } = (await made.json()) as { id?: string };
  if (id === undefined) throw new Error(`A file was not stored: ${made.status}`);
  return id;
}

/** Fields of six bodies of about 10 MiB with different contents. */
function bodies(): string[] {
  const fill = (item: string, bytes = 10 * MiB - 1000) => Array(Math.floor(bytes / (item.length + 1))).fill(item);
  const keys = fill("xxxxxxxxxxxxxx").map((_, i) => `"k${i}":${i}`);
  return [
    `"x":[${fill("[]").join()}]`,
    `"x":[${fill("0.1234567").join()}]`,
    `"x":{${keys.slice(0, 600_000).join()}}`,
    `"logit_bias":{${keys.slice(0, 60_000).join()}},"x":"${"\\u0416".repeat((9 * MiB) / 6)}"`,
    `"x":"${'\\"'.repeat(5 * MiB - 1000)}"`,
    `"x":"${"ж".repeat(5 * MiB - 1000)}"`,
  ];
}

function chat({ base, model }: WorkOrder, fields: string): Promise<number> {
  const messages = '[{"role":"user","content":"Count from 1 to 20."}]';
  const body = `{"model":${JSON.stringify(model)},"max_tokens":1,"messages":${messages},${fields}}`;
  return send(new URL("chat/completions", base), body, "application/json");
}

async function uploaded({ base }: WorkOrder, form: FormData): Promise<number> {
  const upload = await fetch(new URL("files", base), { method: "POST", headers: AUTHORIZATION, body: form });
  const { id } = (await upload.json()) as { id?: string };
  const batch = { input_file_id: id, endpoint: "/v1/chat/completions", completion_window: "24h" };
  const created = await fetch(new URL("batches", base), {
    method: "POST",
    headers: { ...AUTHORIZATION, "content-type": "application/json" },
    body: JSON.stringify(batch),
  });
  const made = (await created.json()) as { id?: string };
  for (let status = "validating"; status === "validating"; ) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const found = await fetch(new URL(`batches/${made.id}`, base), { headers: AUTHORIZATION });
    ({ status } = (await found.json()) as { status: string });
  }
  return upload.status;
}

async function send(url: URL, body: string, type: string): Promise<number> {
  const response = await fetch(url, { method: "POST", headers: { ...AUTHORIZATION, "content-type": type }, body });
  await response.arrayBuffer();
  return response.status;
}
