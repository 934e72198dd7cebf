import type { Grammars } from "../../../../server/grammar/grammar-compiler.ts";

/** Grammars that are made where they are needed. */
export const GRAMMARS_HERE: Grammars = { run: async (work) => work() };
