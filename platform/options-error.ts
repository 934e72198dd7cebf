/** An invalid option or argument; the message names it and the allowed values, and needs no stack. */
export class OptionsError extends Error {
  override readonly name = "OptionsError";
}
