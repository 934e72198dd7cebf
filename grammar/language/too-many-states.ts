/** A set of texts would take too many states. */
export class TooManyStates extends Error {
  override readonly name = "TooManyStates";
}
