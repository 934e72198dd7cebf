import { z } from "zod";
import { validate } from "../../../openapi/generation/validate.ts";
import { ignoredNames } from "../../../openapi/ignored-fields.ts";
import { inputTokensRequest } from "../../../openapi/responses/request.ts";
import { checkStateless } from "../../../openapi/responses/stateless.ts";
import type { TokenReader } from "../tokenize.ts";
import { givenItems } from "./given-items.ts";
import { promptTurn } from "./response-turn.ts";
import type { ResponsesParts } from "./responses.ts";
import { storedItems } from "./stored-items.ts";
import { toolSet } from "./tool-set.ts";

const named = z.object({ model: z.string().nullish() });

/** Reads bodies of POST /v1/responses/input_tokens: the tokens that a response with the same fields would read. */
export function inputTokensReader({ limits, seal, state }: ResponsesParts): TokenReader {
  const schema = inputTokensRequest(limits);
  return async (json, owner) => {
    const stored = state === null ? null : await storedItems(json, owner, state, { limits });
    return {
      model: validate(named, json).model ?? null,
      ignored: ignoredNames(Object(json), schema),
      question() {
        const body = validate(schema, json);
        if (stored === null) checkStateless(body);
        const { before, referenced } = stored ?? { before: [], referenced: new Map() };
        const items = [...before, ...givenItems(body.input, { referenced })];
        const context = { items, open: (sealed: string) => seal.open(sealed, owner) };
        const { messages, tools, thinking, variables } = promptTurn(body, context, toolSet(body));
        return { kind: "prompt", prompt: { kind: "chat", messages, variables, thinking, tools }, pieces: false };
      },
      write: async ({ tokens }) => JSON.stringify({ object: "response.input_tokens", input_tokens: tokens.length }),
    };
  };
}
