import { APIError } from "openai";

/** What the server refused the call with. Throws when it did not. */
export async function failure(call: Promise<unknown>): Promise<APIError> {
  const error: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof APIError)) throw new Error(`No APIError but ${JSON.stringify(error)}`);
  return error;
}
