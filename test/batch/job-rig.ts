import { endless, stream } from "../api/ask.ts";
import type { HeldSteps } from "../api/held-steps.ts";
import type { TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";

/** Greedy POST /v1/chat/completions with a Prefer header. */
export function postChat(server: TestServer, body: object, prefer: string): Promise<Response> {
  return fetch(`${server.origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", prefer },
    body: JSON.stringify({ model: "demo", temperature: 0, ...body }),
  });
}

/**
 * A stream that occupies a server with one sequence until it is cancelled: with `steps` for any length, else choice
 * after choice.
 */
export async function occupied(server: TestServer, steps?: HeldSteps) {
  steps?.allow(5);
  const running = await stream(server.client, "Count from 1 to 20.", { ...endless(3000), n: 16 });
  await running[Symbol.asyncIterator]().next();
  const leave = () => {
    running.controller.abort();
    steps?.release();
  };
  return { leave };
}

/** The response of a job's address once it is no longer 202. */
export async function poll(server: TestServer, location: string): Promise<{ status: number; body: unknown }> {
  let answered: { status: number; body: unknown } | null = null;
  await until(`${location} to be over`, async () => {
    const response = await fetch(server.origin + location);
    const body: unknown = await response.json();
    if (response.status !== 202) answered = { status: response.status, body };
    return answered !== null;
  });
  if (answered === null) throw new Error("until() resolved too early");
  return answered;
}
