import { JsonRules } from "./json-rules.ts";
import { RuleBook } from "./rule-book.ts";

/** The rules of a grammar, with those of JSON. */
export class GrammarBuilder extends RuleBook {
  readonly json = new JsonRules(this);
}
