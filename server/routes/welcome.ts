import type { Request, RequestHandler } from "express";
import type { ModelSet } from "../models/model-set.ts";
import type { AppOptions } from "../options/app-options.ts";
import { apiName, type BaseUrl, baseUrlLines, baseUrls } from "../options/base-urls.ts";

/** Facts about the server that the page shows. */
interface Welcome {
  version: string;
  apis: readonly BaseUrl[];
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

/** GET /: name and version, the base URLs for clients, and an example of a first call. */
export function welcome(
  models: ModelSet,
  version: string,
  { apiKeys, ollama }: Pick<AppOptions, "apiKeys" | "ollama">,
): RequestHandler {
  return (req, res) => {
    const names = models.list().map(({ id }) => id);
    const apis = baseUrls(originOf(req), ollama !== "off");
    const baseUrl = apis[0]!.url;
    const shown = {
      version,
      apis,
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
        res.json({
          name: "nightshift",
          version,
          base_url: baseUrl,
          base_urls: Object.fromEntries(apis.map(({ of, url }) => [of.toLowerCase(), url])),
          models: shown.models,
          links: Object.keys(LINKS),
        });
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

function text({ version, apis, models, example }: Welcome): string {
  const links = Object.entries(LINKS).map(([path, what]) => `  ${path.padEnd(15)}${what}\n`);
  const served = models === null ? "" : `Models: ${models.join(", ")}\n`;
  const urls = baseUrlLines(apis).map((line) => `  ${line}\n`);
  return `Nightshift ${version}, a server for language models.

Base URLs:
${urls.join("")}
${served}
${example}

${links.join("")}`;
}

function page({ version, apis, models, example }: Welcome): string {
  const urls = apis.map((api) => `<tr><td>${apiName(api)}<td><code>${escaped(api.url)}</code>`);
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
td { padding-right: 1rem }
pre { padding: 1rem; border: 1px solid; border-radius: 6px; overflow-x: auto }
</style>
<h1>Nightshift ${escaped(version)}</h1>
<p>A server for language models: answers at once, batches when there is time.</p>
<p>Base URLs:</p>
<table>${urls.join("")}</table>
${served}
<pre>${escaped(example)}</pre>
<ul>${links.join("")}</ul>
</html>
`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
