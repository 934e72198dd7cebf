import { APIError } from "openai";

/** The error with which the server refused the call. Throws when the call succeeded. */
export async function failure(call: Promise<unknown>): Promise<APIError> {
  const error: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof APIError)) throw new Error(`No APIError but ${JSON.stringify(error)}`);
  return error;
}
