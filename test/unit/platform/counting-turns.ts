/** Counts turns of the event loop until it is stopped. */
export function countingTurns(): { readonly turns: number; end(): void } {
  let turns = 0;
  let over = false;
  const count = () => {
    turns++;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  return {
    get turns() {
      return turns;
    },
    end() {
      over = true;
    },
  };
}
