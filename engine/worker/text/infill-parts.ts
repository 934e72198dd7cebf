import type { InfillPrompt } from "../../protocol/prompt.ts";
import type { InfillTokens } from "../native/vocabulary.ts";
import type { TextPart } from "./tokenizer.ts";

/** Names in the form that models were trained on; llama-server has the same ones. */
const REPOSITORY = "myproject\n";
const OWN_FILE = "filename\n";
/** Before a file, where the model has no token for it; llama-server has the same text. */
const SNIPPET = "\n\n--- snippet ---\n\n";

export interface InfillParts {
  /** The other files of the repository, nearest last, with their marks. */
  files: (TextPart | number)[];
  /** Prefix, suffix and their marks. */
  text: (TextPart | number)[];
}

/**
 * The parts of a fill-in-the-middle prompt in llama-server's order, prefix before suffix, as texts and single tokens. No text of
 * the client becomes a control token.
 */
export function infillParts(
  { prefix, suffix, middle, repository }: InfillPrompt,
  tokens: InfillTokens,
  opening: readonly number[],
): InfillParts {
  const text = [...opening, tokens.prefix, plain(prefix), plain(middle), tokens.suffix, plain(suffix), tokens.middle];
  if (repository === null) return { files: [], text };
  const files = repository.files.flatMap(({ name, text }) =>
    tokens.file === null ? [plain(SNIPPET), plain(text)] : [tokens.file, plain(`${name}\n`), plain(text)],
  );
  if (tokens.repository !== null) files.unshift(tokens.repository, plain(REPOSITORY));
  if (tokens.file !== null) files.push(tokens.file, plain(OWN_FILE));
  return { files, text };
}

function plain(text: string): TextPart {
  return { text, special: false };
}
