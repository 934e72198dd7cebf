import { OptionsError } from "../../../platform/options-error.ts";

/** What was downloaded is not the model that it should be. Another try would bring the same bytes. */
export class UnusableModel extends OptionsError {}
