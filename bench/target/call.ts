import { AUTHORIZATION, type Target } from "./target.ts";

export function json(body: object): RequestInit {
  return {
    method: "POST",
    headers: { "content-type": "application/json", ...AUTHORIZATION },
    body: JSON.stringify(body),
  };
}

/** Calls an endpoint and reads its JSON; rejects with the beginning of the response unless its status is 2xx. */
export async function call<T>(target: Target, path: string, init: RequestInit): Promise<T> {
  const response = await fetch(new URL(path, target.base), init);
  if (!response.ok) throw new Error(`${target.label}: ${response.status} ${(await response.text()).slice(0, 300)}`);
  return (await response.json()) as T;
}
