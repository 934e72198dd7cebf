/** An API of the server, and the base URL that its clients take. */
export interface BaseUrl {
  /** Whose clients these are. */
  of: string;
  /** The parts of the API; null for one without parts. */
  parts: string | null;
  url: string;
}

/**
 * All APIs of a server.
 *
 * @param origin such as http://127.0.0.1:8080
 * @param ollama whether Ollama's API is served
 */
export function baseUrls(origin: string, ollama: boolean): BaseUrl[] {
  return [
    { of: "OpenAI", parts: "chat completions, Responses", url: `${origin}/v1` },
    { of: "Anthropic", parts: "Messages", url: origin },
    ...(ollama ? [{ of: "Ollama", parts: null, url: origin }] : []),
  ];
}

/** One line for each: `http://127.0.0.1:8080/v1  OpenAI: chat completions, Responses`. */
export function baseUrlLines(urls: readonly BaseUrl[]): string[] {
  const width = Math.max(...urls.map(({ url }) => url.length));
  return urls.map(({ url, ...api }) => `${url.padEnd(width)}  ${apiName(api)}`);
}

export function apiName({ of, parts }: Pick<BaseUrl, "of" | "parts">): string {
  return parts === null ? of : `${of}: ${parts}`;
}
