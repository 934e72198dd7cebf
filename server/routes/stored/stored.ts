import type { Routes } from "../../http/routes.ts";
import type { AppOptions } from "../../options/app-options.ts";
import type { BackgroundResponses } from "../../stored/background-responses.ts";
import type { StoredCompletions } from "../../stored/completions.ts";
import type { Conversations } from "../../stored/conversations.ts";
import type { AnswerStore } from "../../stored/export/export-lines.ts";
import type { ResponseStreams } from "../../stored/response-streams.ts";
import type { StoredResponses } from "../../stored/responses.ts";
import { completionRoutes } from "./completions.ts";
import { conversationRoutes } from "./conversations.ts";
import { exportRoutes } from "./export.ts";
import { responseRoutes } from "./responses.ts";

export interface StoredRouteParts {
  stored: { completions: StoredCompletions; conversations: Conversations; responses: StoredResponses };
  background: BackgroundResponses;
  streams: ResponseStreams;
  store: AnswerStore;
  options: Pick<AppOptions, "stallMs" | "streamBuffer" | "silenceMs" | "bodyLimit" | "limits">;
}

/** Routes of stored answers. */
export function storedRoutes({ stored, background, streams, store, options }: StoredRouteParts): Routes {
  return {
    ...completionRoutes(stored.completions, options.stallMs),
    ...responseRoutes({ responses: stored.responses, streams, background, options }),
    ...conversationRoutes(stored.conversations, options),
    ...exportRoutes(store, options.stallMs),
  };
}
