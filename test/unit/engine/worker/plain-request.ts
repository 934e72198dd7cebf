import type { EngineRequest } from "../../../../engine/protocol/request.ts";
import { PLAIN_SUBMISSION } from "../../../plain-submission.ts";

export function plainRequest(change: Partial<EngineRequest>): EngineRequest {
  return { ...PLAIN_SUBMISSION, id: 1, ...change };
}
