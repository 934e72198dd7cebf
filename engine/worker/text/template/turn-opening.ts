type Values = Record<string, unknown>;

const QUESTION = { role: "user", content: "?" };

/**
 * The rendering of these variables, with the beginning of the answer that the template omits behind text that it renders
 * after calls (Gemma 4): it takes the turn for open, although the text has ended it.
 */
export function withTurnOpened(render: (values: Values) => string, values: Values): string {
  const text = render(values);
  if (values.add_generation_prompt === false) return text;
  const added = (list: Values): { turn: string; opening: string } => {
    const turn = render({ ...list, add_generation_prompt: false });
    const whole = render({ ...list, add_generation_prompt: true });
    return { turn, opening: whole.startsWith(turn) ? whole.slice(turn.length) : "" };
  };
  const usual = added({ ...values, messages: [QUESTION] });
  const end = usual.turn.slice(usual.turn.lastIndexOf(QUESTION.content) + 1);
  const { turn, opening } = added(values);
  const isShort = opening !== usual.opening && usual.opening.endsWith(opening);
  return isShort && end.trim() !== "" && turn.endsWith(end) ? turn + usual.opening : text;
}
