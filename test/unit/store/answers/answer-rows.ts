import type { NewCompletion, NewItem, NewResponse } from "../../../../store/types/answer-rows.ts";

const UNBOUNDED = { keyId: null, bounds: { quotaBytes: null, maxAnswers: 1_000_000 } };

export function item(id: string, text = id): NewItem {
  return { id, item: JSON.stringify({ id, text }) };
}

/** A response with one item of input and one of output, named after it. */
export function newResponse(
  id: string,
  parent: string | null = null,
  { owner = "local", createdAt = 1000, ...changed }: Partial<NewResponse> & { createdAt?: number } = {},
): NewResponse {
  const row = {
    id,
    model: "demo",
    status: "completed",
    background: 0,
    conversation: null,
    object: "{}",
    createdAt,
  } as const;
  return { ...UNBOUNDED, owner, row, parent, input: [item(`${id}-in`)], output: [item(`${id}-out`)], ...changed };
}

export function newCompletion(
  id: string,
  metadata: Record<string, string> = {},
  { owner = "local", createdAt = 1000, model = "demo" } = {},
): NewCompletion {
  return { ...UNBOUNDED, owner, row: { id, model, object: `{"id":"${id}"}`, createdAt }, metadata, messages: "[]" };
}
