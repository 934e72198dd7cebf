/** The content of an answer with its reasoning, as Mistral's templates take it. */
export function thoughtParts(thinking: string, text: string): Record<string, string>[] {
  const thought = { type: "thinking", thinking };
  return text === "" ? [thought] : [thought, { type: "text", text }];
}
