/** What the user wrote cannot be used; the message names the place and what is allowed, and needs no stack. */
export class OptionsError extends Error {
  override readonly name = "OptionsError";
}
