import { ApiError } from "./api-error.ts";

/** The owner was erased after the request's key was checked. Another request with the key is refused in the same way. */
export function ownerErased(): ApiError {
  const message = "Incorrect API key: its owner was erased.";
  return new ApiError("invalid_api_key", message);
}
