/** Counts the work for one grammar, so that a short schema cannot take any time. */
export interface Work {
  /**
   * Called before or within work whose amount depends on the schema.
   *
   * @param units nodes, characters, ranges or schemas to visit, each a fraction of a microsecond; throws where they are too many
   */
  spend(units: number): void;
}
