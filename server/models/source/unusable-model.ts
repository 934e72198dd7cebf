import { OptionsError } from "../../../platform/options-error.ts";

/** The downloaded bytes are not the expected model. Another try would return the same bytes. */
export class UnusableModel extends OptionsError {}
