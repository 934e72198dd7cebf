import { ApiError } from "./api-error.ts";

/** For a request whose owner was erased after its key was checked. Further requests with the key get the same error. */
export function ownerErased(): ApiError {
  const message = "Incorrect API key: its owner was erased.";
  return new ApiError("invalid_api_key", message);
}
