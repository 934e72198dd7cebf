import type { Clock } from "../../platform/clock.ts";
import type { Store } from "../../store/store.ts";
import type { Options } from "../options/table.ts";
import { AnswerBounds, type AnswerBoundsDeps } from "../stored/answer-bounds.ts";
import { StoredCompletions } from "../stored/completions.ts";
import { ConversationLocks } from "../stored/conversation-locks.ts";
import { Conversations } from "../stored/conversations.ts";
import { StoredState } from "../stored/response-state.ts";
import { StoredResponses } from "../stored/responses.ts";

/** Answers that clients store. */
export interface StoredAnswers {
  completions: StoredCompletions;
  conversations: Conversations;
  responses: StoredResponses;
  /** The context of responses that run. */
  responseState: StoredState;
}

export function storedAnswers(
  { maxBody, maxStored }: Pick<Options, "maxBody" | "maxStored">,
  store: Store,
  { files, time: clock }: { files: AnswerBoundsDeps["files"]; time: Clock },
): StoredAnswers {
  const bounds = new AnswerBounds({ store, files, maxStored });
  const locks = new ConversationLocks(store);
  const conversations = new Conversations({ store, bounds, locks, clock });
  return {
    completions: new StoredCompletions({ store, bounds }),
    conversations,
    responses: new StoredResponses({ store, clock }),
    responseState: new StoredState({ store, bounds, conversations, locks, maxContextBytes: maxBody }),
  };
}
