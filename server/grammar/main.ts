import { checkGbnf, checkSchema, schemaGrammar } from "../../grammar/checked-grammar.ts";
import { type GrammarSource, outcomeOf } from "../../grammar/kept-grammars.ts";
import type { FromCompiler, ToCompiler } from "./grammar-process.ts";
import { toolOutcome } from "./tool-grammar.ts";

/** The process that makes grammars, one at a time; see grammar-process.ts. */

process.on("disconnect", () => process.exit());
process.on("message", ({ id, source }: ToCompiler) => {
  const answer: FromCompiler = { id, outcome: outcomeOf(() => grammarOf(source)) };
  // The event `disconnect` follows when the server has ended.
  process.send?.(answer, undefined, undefined, () => {});
});

function grammarOf({ kind, text }: GrammarSource): string {
  switch (kind) {
    case "schema":
      return schemaGrammar(JSON.parse(text));
    case "enforceable":
      checkSchema(JSON.parse(text));
      return "";
    case "gbnf":
      checkGbnf(text);
      return "";
    case "tools":
      return toolOutcome(text);
  }
}
