import { JsonRules } from "./json-rules.ts";
import { RuleBook } from "./rule-book.ts";

/** A grammar's rules, those of JSON among them. */
export class GrammarBuilder extends RuleBook {
  readonly json = new JsonRules(this);
}
