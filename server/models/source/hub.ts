import type { HubFile } from "./model-value.ts";

/** The Hugging Face hub or a mirror of it, and its token. */
export interface Hub {
  /** With a trailing slash. */
  endpoint: string;
  token: string | null;
}

/** From HF_TOKEN, and MODEL_ENDPOINT or HF_ENDPOINT, as llama.cpp and node-llama-cpp read them. */
export function hubOf(env: Record<string, string | undefined>): Hub {
  const endpoint = [env.MODEL_ENDPOINT, env.HF_ENDPOINT].find((url) => url !== undefined && URL.canParse(url));
  const withSlash = endpoint === undefined || endpoint.endsWith("/") ? endpoint : `${endpoint}/`;
  return { endpoint: withSlash ?? "https://huggingface.co/", token: env.HF_TOKEN || null };
}

export function hubUrl(hub: Hub, { owner, repo, branch }: HubFile, file: string): string {
  const path = file.split("/").map(encodeURIComponent).join("/");
  return `${repoUrl(hub.endpoint, owner, repo)}/resolve/${encodeURIComponent(branch)}/${path}`;
}

/** The address at which the hub names the file of a quantization; without one the hub chooses. */
export function manifestUrl(hub: Hub, { owner, repo, tag }: HubFile): string {
  return `${repoUrl(`${hub.endpoint}v2/`, owner, repo)}/manifests/${encodeURIComponent(tag ?? "latest")}`;
}

function repoUrl(base: string, owner: string, repo: string): string {
  return `${base}${encodeURIComponent(owner)}/${encodeURIComponent(repo)}`;
}
