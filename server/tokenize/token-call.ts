import type { ServerResponse } from "node:http";
import type { TokenAnswer, TokenQuestion } from "../../engine/protocol/tokenize.ts";
import type { Caller } from "../../ledger/key.ts";
import type { Admission, Place } from "../admission/admission.ts";
import type { Allowances } from "../admission/allowance.ts";
import { tokenAsk } from "../admission/allowance-estimate.ts";

export interface TokenCallParts {
  admission: Pick<Admission, "admit">;
  allowances: Pick<Allowances, "during">;
  caller: Caller;
  res: ServerResponse;
  place: Place;
  /** Aborted when the client leaves. */
  signal: AbortSignal;
}

/**
 * Runs a call that only has texts tokenized. It is one request of its key's limits, and waits in its owner's part of the
 * model's queue; it costs no tokens.
 */
export async function tokenCall(
  { admission, allowances, caller, res, place, signal }: TokenCallParts,
  run: (tokenize: (question: TokenQuestion) => Promise<TokenAnswer>) => Promise<void>,
): Promise<void> {
  const entrant = { tier: "default" as const, owner: caller.owner };
  admission.admit(place, entrant, 1, null);
  const ask = () => tokenAsk(place);
  await allowances.during(caller, res, ask, async () => {
    const burden = { ...entrant, sequences: 0 };
    place.load.arrive(burden);
    try {
      await run((question) => place.model.engine.tokenize(question, signal));
    } finally {
      place.load.leave("waiting", burden);
    }
  });
}
