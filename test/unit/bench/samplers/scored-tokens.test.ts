import { expect, test } from "vitest";
import { differenceText, firstDifference, scoredTokens } from "../../../../bench/samplers/scored-tokens.ts";

const OWN = scoredTokens({
  tokens: ["a", " b", " c"],
  token_logprobs: [-0.1, -0.5, -1],
  top_logprobs: [{ a: -0.1, z: -3 }, { " b": -0.5, " d": -0.75 }, { " c": -1 }],
});

const theirs = (...tokens: string[]) =>
  scoredTokens({
    content: tokens.map((token) => ({ token, logprob: -0.625, top_logprobs: [{ token: " b", logprob: -0.875 }] })),
  });

test("log probabilities of completions and of chats are read alike", () => {
  expect(OWN[1]).toEqual({ token: " b", logprob: -0.5, best: new Map(Object.entries({ " b": -0.5, " d": -0.75 })) });
  expect(theirs("a")).toEqual([{ token: "a", logprob: -0.625, best: new Map([[" b", -0.875]]) }]);
});

test("the first token that differs has the log probabilities of both tokens at both servers", () => {
  const difference = firstDifference(OWN, theirs("a", " d", " x"))!;
  expect(difference).toEqual({
    position: 1,
    own: { token: " b", logprob: -0.5, other: -0.75 },
    theirs: { token: " d", logprob: -0.625, other: -0.875 },
  });
  expect(differenceText(difference)).toBe(
    'token 2 is " b" (-0.500, the other\'s -0.750) here and " d" (-0.625, the other\'s -0.875) there',
  );
});

test("a token that is not among the other server's best has no log probability there", () => {
  expect(firstDifference(OWN, theirs("z"))).toMatchObject({ own: { other: -3 }, theirs: { other: null } });
});

test("an answer that ends before the other differs at its end", () => {
  const difference = firstDifference(OWN, theirs("a", " b"))!;
  expect(difference).toEqual({ position: 2, own: { token: " c", logprob: -1, other: null }, theirs: null });
  expect(differenceText(difference)).toContain("there");
  expect(firstDifference(OWN, theirs("a", " b", " c"))).toBeNull();
});
