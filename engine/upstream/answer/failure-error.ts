import { ApiError, invalidRequest, type PromptExcess, unavailable } from "../../../openapi/api-error.ts";
import { featureRefusal } from "../../protocol/upstream-refusal.ts";
import type { Classified } from "./answer-class.ts";
import type { UpstreamError } from "./error-body.ts";
import { refusedFeature } from "./refused-feature.ts";

const RETRY_SECONDS = 5;
/** The words of engines for a prompt that is too long. */
const TOO_LONG =
  /context length|maximum context|context window|context size|too many tokens|exceeds the (available )?context/i;
/** Characters of an upstream's own text that a client gets. */
const MOST_CHARACTERS = 500;

/**
 * The error that a client gets for a failure of an upstream. It has the upstream's words only about the client's own request,
 * and only where the upstream is trusted with that: the log has all of them.
 */
export function failureError(
  { class: name, retryAfterMs, error }: Classified,
  upstream: string,
  trusted: boolean,
): ApiError {
  const retryAfter = retryAfterMs === null ? RETRY_SECONDS : Math.max(1, Math.ceil(retryAfterMs / 1000));
  switch (name) {
    case "busy":
      return unavailable(
        "server_is_overloaded",
        `The upstream '${upstream}' is overloaded. Try again later.`,
        retryAfter,
      );
    case "gone":
      return unavailable(
        "upstream_unavailable",
        `The upstream '${upstream}' does not answer. Try again later.`,
        retryAfter,
      );
    case "ours":
      return unavailable(
        "upstream_unavailable",
        `The upstream '${upstream}' refuses this server. The server's log says why, for its operator.`,
        retryAfter,
      );
    case "fault":
      return new ApiError("upstream_failed", `The upstream '${upstream}' failed at this request. It may be retried.`);
    case "client": {
      const refused = refusedFeature(error);
      if (refused !== null) return featureRefusal(upstream, refused.feature);
      const text = error?.message ?? "";
      const said = trusted && text !== "" ? ` It says: ${text.slice(0, MOST_CHARACTERS)}` : "";
      if (isTooLong(error)) return tooLongRequest(error, said);
      return invalidRequest(
        "upstream_refused",
        null,
        `The upstream '${upstream}' refuses this request as invalid.${said || " The server's log says why, for its operator."}`,
      );
    }
  }
}

export function isTooLong(error: UpstreamError | null): boolean {
  return error !== null && (error.code === "context_length_exceeded" || TOO_LONG.test(error.message));
}

/** @param said the upstream's own words, where its clients may have them */
export function tooLongRequest(error: UpstreamError | null, said = ""): ApiError {
  const excess = excessOf(error?.message ?? "");
  const details = { param: null, ...(excess !== null && { excess }) };
  const counts = excess === null ? "" : ` Its prompt has ${excess.tokens} tokens, of at most ${excess.most}.`;
  return new ApiError("context_length_exceeded", `The request is too long for this model.${counts}${said}`, details);
}

/** Tokens of the prompt and of the context, as llama-server and this server write them; null for other words. */
function excessOf(text: string): PromptExcess | null {
  const [, asked, size] =
    /^request \((\d{1,9}) tokens\) exceeds the available context size \((\d{1,9}) tokens\)/.exec(text) ?? [];
  const [, context = size, tokens = asked] =
    /^This model's maximum context length is (\d{1,9}) tokens, and the prompt alone has (\d{1,9})\./.exec(text) ?? [];
  return context === undefined || tokens === undefined ? null : { tokens: Number(tokens), most: Number(context) - 1 };
}
