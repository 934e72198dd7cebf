import type { HubFile } from "./model-value.ts";

/** The Hugging Face hub or a mirror of it, and what may open it. */
export interface Hub {
  /** With a slash at its end. */
  endpoint: string;
  token: string | null;
}

/** From HF_TOKEN, and MODEL_ENDPOINT or HF_ENDPOINT, as llama.cpp and node-llama-cpp read them. */
export function hubOf(env: Record<string, string | undefined>): Hub {
  const endpoint = [env.MODEL_ENDPOINT, env.HF_ENDPOINT].find((url) => url !== undefined && URL.canParse(url));
  const withSlash = endpoint === undefined || endpoint.endsWith("/") ? endpoint : `${endpoint}/`;
  return { endpoint: withSlash ?? "https://huggingface.co/", token: env.HF_TOKEN || null };
}

export function hubUrl(hub: Hub, { owner, repo, file, branch }: HubFile): string | null {
  if (file === null) return null;
  const path = file.split("/").map(encodeURIComponent).join("/");
  return `${hub.endpoint}${encodeURIComponent(owner)}/${encodeURIComponent(repo)}/resolve/${encodeURIComponent(branch)}/${path}`;
}
