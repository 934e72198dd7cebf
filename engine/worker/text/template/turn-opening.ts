type Values = Record<string, unknown>;
type Render = (values: Values) => string;

const QUESTION = { role: "user", content: "?" };

/**
 * The rendering of these variables, with the beginning of the answer that the template omits behind text that it renders
 * after calls (Gemma 4): it takes the turn for open, although the text has ended it.
 */
export function withTurnOpened(render: Render, values: Values): string {
  const text = render(values);
  if (values.add_generation_prompt === false || !endsInTextWithCalls(values.messages)) return text;
  const asked = { ...values, messages: [QUESTION] };
  const usual = openingOf(render, asked, render(asked));
  const { turn, opening } = openingOf(render, values, text);
  const end = usual.turn.slice(usual.turn.lastIndexOf(QUESTION.content) + 1);
  const isShort = opening !== usual.opening && usual.opening.endsWith(opening);
  return isShort && end.trim() !== "" && turn.endsWith(end) ? turn + usual.opening : text;
}

/** The last turn of a rendering, and the beginning of an answer behind it. */
function openingOf(render: Render, values: Values, text: string): { turn: string; opening: string } {
  const turn = render({ ...values, add_generation_prompt: false });
  return { turn, opening: text.startsWith(turn) ? text.slice(turn.length) : "" };
}

/** Whether the last message, but for results, is one with text and calls. Others need no second rendering. */
function endsInTextWithCalls(messages: unknown): boolean {
  const list = Array.isArray(messages)
    ? (messages as { role?: unknown; content?: unknown; tool_calls?: unknown }[])
    : [];
  const last = list.findLast(({ role }) => role !== "tool");
  return Boolean(last?.content) && last?.tool_calls !== undefined;
}
