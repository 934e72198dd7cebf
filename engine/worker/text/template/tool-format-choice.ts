import { readingFormats, recognise, toolFormat } from "../../../tools/format-list.ts";
import type { ToolFormat } from "../../../tools/syntax/format.ts";
import type { TemplateTraits } from "./template-traits.ts";

/** The format of tool instructions where the template does not render tools. */
export const FALLBACK_FORMAT = "hermes";
/** For templates that render tools, show no call, and name no format: they prompt for bare JSON. */
const UNNAMED_FORMAT = "llama";
/** Characters of a call that is not known, in a message. */
const LONGEST_EXCERPT = 120;

export interface ToolFormatChoice {
  format: ToolFormat;
  /** The reason why requests with tools are refused; null where they are not. */
  refusal: string | null;
}

/**
 * The format of a template's tool calls: the one that its text names, if that reads the calls that the template writes, else
 * another one that reads them. Calls that none reads are a form that is not known: another form would be read as text, and
 * a grammar would force a form that the model was not trained on.
 */
export function chosenFormat(source: string, traits: TemplateTraits): ToolFormatChoice {
  const named = recognise(source);
  const { toolsError, callsError, writtenCalls } = traits;
  if (toolsError !== null) return refused(`it fails when it renders tools (${toolsError})`);
  if (callsError !== null) return refused(`it fails when it renders tool calls (${callsError})`);
  const reading = writtenCalls.flatMap(readingFormats);
  const native = named !== null && reading.includes(named) ? named : (reading[0] ?? null);
  if (!traits.tools && !named?.always) {
    return taken(native?.example === undefined ? toolFormat(FALLBACK_FORMAT) : native);
  }
  if (writtenCalls.length === 0) return taken(named ?? toolFormat(UNNAMED_FORMAT));
  return native === null
    ? refused(`it writes calls in a form that is not known: ${excerpt(writtenCalls.at(-1)!)}`)
    : taken(native);
}

function taken(format: ToolFormat): ToolFormatChoice {
  return { format, refusal: null };
}

function refused(refusal: string): ToolFormatChoice {
  return { format: toolFormat(FALLBACK_FORMAT), refusal };
}

function excerpt(call: string): string {
  const text = JSON.stringify(call.trim());
  return text.length <= LONGEST_EXCERPT ? text : `${text.slice(0, LONGEST_EXCERPT)}…`;
}
