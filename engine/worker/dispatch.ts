import type { FromEngine, ToEngine } from "../protocol/messages.ts";
import type { LoadedModel } from "./loaded-model.ts";
import { guarded } from "./request-fault.ts";

/** Messages for a model that is loaded. */
export type WorkMessage = Exclude<ToEngine, { type: "start" | "measure" }>;

/** Hands a message to the model. An unexpected error costs the request a 500, and nothing else. */
export async function dispatch(
  message: WorkMessage,
  model: Omit<LoadedModel, "facts" | "warnings" | "run">,
  post: (message: FromEngine) => void,
): Promise<void> {
  switch (message.type) {
    case "submit":
      return guarded("request", message.request.id, () => model.submit(message.request), model, post);
    case "embed":
      return guarded("request", message.request.id, () => model.embed(message.request), model, post);
    case "tokenize":
      return guarded("question", message.id, () => model.tokenize(message.id, message.question), model, post);
    case "cancel":
      model.cancel(message.id);
      return model.afterIteration(() => post({ type: "cancelled", id: message.id }));
    case "inspect":
      return post({ type: "status", status: model.status });
    default:
      message satisfies never;
  }
}
