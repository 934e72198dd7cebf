import { call, json } from "../target/call.ts";
import type { Body } from "../target/stream.ts";
import type { Target } from "../target/target.ts";

export interface BatchObject {
  id: string;
  status: string;
  request_counts: { total: number; completed: number; failed: number };
  output_file_id: string | null;
  error_file_id: string | null;
  usage: { input_tokens: number; output_tokens: number; input_tokens_details: { cached_tokens: number } };
}

/** Uploads the bodies as a batch file and creates a batch; returns its id. */
export async function createBatch(target: Target, bodies: Body[]): Promise<string> {
  const lines = bodies.map(({ path, ...body }, i) =>
    JSON.stringify({
      custom_id: `line-${i}`,
      method: "POST",
      url: `/v1/${path}`,
      body: { model: target.model, ...body },
    }),
  );
  const form = new FormData();
  form.set("purpose", "batch");
  form.set("file", new Blob([`${lines.join("\n")}\n`]), "bench.jsonl");
  const file = await call<{ id: string }>(target, "files", { method: "POST", body: form });
  const request = { input_file_id: file.id, endpoint: `/v1/${bodies[0]!.path}`, completion_window: "24h" };
  return (await call<BatchObject>(target, "batches", json(request))).id;
}

export async function retrieveBatch(target: Target, id: string): Promise<BatchObject> {
  return call<BatchObject>(target, `batches/${id}`, {});
}

export function isOver({ status }: BatchObject): boolean {
  return !["validating", "in_progress", "finalizing", "cancelling"].includes(status);
}
