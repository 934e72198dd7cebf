import { invalidRequest } from "../api-error.ts";
import type { ResponsesRequest } from "./request.ts";

type Referring = Pick<ResponsesRequest, "previous_response_id" | "conversation" | "input">;

/** Throws the 400 of a body that refers to stored items, where there are none. */
export function checkStateless(body: Referring): void {
  const refuse = (param: string) => {
    throw invalidRequest(
      "unsupported_value",
      param,
      `Unsupported value: '${param}': no stored items can be used here.`,
    );
  };
  if (body.previous_response_id != null) refuse("previous_response_id");
  if (body.conversation != null) refuse("conversation");
  const reference = Array.isArray(body.input) ? body.input.findIndex(({ type }) => type === "item_reference") : -1;
  if (reference !== -1) refuse(`input[${reference}]`);
}

/** Throws the 400 of a body that a batch line cannot have: lines run without the store of responses. */
export function checkBatchLine(
  body: Referring & Pick<ResponsesRequest, "store" | "background" | "context_management">,
): void {
  checkStateless(body);
  if (body.background === true) {
    const message = "Unsupported value: 'background': a batch line waits by itself; omit it or send false.";
    throw invalidRequest("unsupported_value", "background", message);
  }
  if ((body.context_management?.length ?? 0) > 0) {
    const message = "Unsupported value: 'context_management': batch lines are not compacted; omit it.";
    throw invalidRequest("unsupported_value", "context_management", message);
  }
  if (body.store !== true) return;
  const message = "Unsupported value: 'store': the result file of a batch has its responses; omit it or send false.";
  throw invalidRequest("unsupported_value", "store", message);
}
