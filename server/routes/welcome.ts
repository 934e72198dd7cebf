import type { Request, RequestHandler } from "express";
import type { ModelSet } from "../models/model-set.ts";

/** Facts about the server that the page shows. */
interface Welcome {
  version: string;
  baseUrl: string;
  /** Null while API keys are on: their names need a key. */
  models: string[] | null;
  example: string;
}

const LINKS = {
  "/v1/models": "the models",
  "/openapi.json": "every endpoint, field and error, as OpenAPI 3.1",
  "/ready": "whether models serve",
  "/metrics": "metrics for Prometheus",
} as const;

/** GET /: name and version, the base URL for clients, and an example of a first call. */
export function welcome(models: ModelSet, version: string, apiKeys: boolean): RequestHandler {
  return (req, res) => {
    const names = models.list().map(({ id }) => id);
    const baseUrl = `${originOf(req)}/v1`;
    const shown = {
      version,
      baseUrl,
      models: apiKeys ? null : names,
      example: example(baseUrl, apiKeys ? null : names),
    };
    res.vary("accept");
    switch (req.accepts(["text", "html", "json"])) {
      case "html":
        // The page loads nothing and may not be framed.
        res.setHeader(
          "content-security-policy",
          "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        );
        res.type("html").send(page(shown));
        break;
      case "json":
        res.json({ name: "nightshift", version, base_url: baseUrl, models: shown.models, links: Object.keys(LINKS) });
        break;
      default:
        res.type("text").send(text(shown));
    }
  };
}

/** The origin in the client's own terms; a placeholder where HTTP/1.0 brought no Host header. */
function originOf(req: Request): string {
  return `${req.protocol}://${req.headers.host ?? "HOST:PORT"}`;
}

/** `names` is null while API keys are on. The Host header comes from the client: characters that a shell could interpret are removed. */
function example(baseUrl: string, names: readonly string[] | null): string {
  const body = {
    model: names === null ? "MODEL" : names[0],
    messages: [{ role: "user", content: "Count from 3 to 7." }],
  };
  const key = names === null ? " -H 'authorization: Bearer YOUR_KEY'" : "";
  const url = baseUrl.replace(/[^\w.:/[\]-]/g, "");
  return `curl ${url}/chat/completions -H 'content-type: application/json'${key} -d '${JSON.stringify(body)}'`;
}

function text({ version, baseUrl, models, example }: Welcome): string {
  const links = Object.entries(LINKS).map(([path, what]) => `  ${path.padEnd(15)}${what}\n`);
  const served = models === null ? "" : `Models: ${models.join(", ")}\n`;
  return `Nightshift ${version}, an OpenAI-compatible model server.

Base URL for clients: ${baseUrl}
${served}
${example}

${links.join("")}`;
}

function page({ version, baseUrl, models, example }: Welcome): string {
  const links = Object.entries(LINKS).map(([path, what]) => `<li><a href="${path}">${path}</a>: ${what}</li>`);
  const served =
    models === null ? "" : `<p>Models: ${models.map((name) => `<code>${escaped(name)}</code>`).join(", ")}</p>`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Nightshift</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 3rem auto; padding: 0 1rem; color-scheme: light dark }
pre { padding: 1rem; border: 1px solid; border-radius: 6px; overflow-x: auto }
</style>
<h1>Nightshift ${escaped(version)}</h1>
<p>An OpenAI-compatible model server: chat completions at once, batches when there is time.</p>
<p>Base URL for clients: <code>${escaped(baseUrl)}</code></p>
${served}
<pre>${escaped(example)}</pre>
<ul>${links.join("")}</ul>
</html>
`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
