import fc from "fast-check";
import { expect, test } from "vitest";
import type { SequenceOutput } from "../../../../../engine/protocol/output.ts";
import type { EngineRequest } from "../../../../../engine/protocol/request.ts";
import { Sampler } from "../../../../../engine/worker/native/sampling/sampler.ts";
import { SequenceLogprobs } from "../../../../../engine/worker/step/logprobs.ts";
import { EngineSequence } from "../../../../../engine/worker/step/sequence.ts";
import { SequenceText } from "../../../../../engine/worker/text/output/sequence-text.ts";
import { plainRequest } from "../plain-request.ts";

const EURO = [...Buffer.from("€")];
/** By token; the last is a control token, which shows nothing. */
const PIECES = ["a", "b", "st", "op", "<t>", "</t>", " "].map((text) => Buffer.from(text));
PIECES.push(Buffer.from(EURO.slice(0, 2)), Buffer.from(EURO.slice(2)), Buffer.alloc(0));
const [A, B, ST, OP, OPEN, CLOSE, SPACE, HALF, REST, END] = PIECES.keys() as unknown as number[];
const VOCABULARY = {
  isEnd: (token: number) => token === END,
  piece: (token: number) => PIECES[token]!,
  text: (token: number) => (token === END ? "<end>" : PIECES[token]!.toString()),
};
const TAGS = { open: "<t>", close: "</t>" };

interface Options extends Partial<EngineRequest> {
  limit?: number;
  thinks?: boolean;
}

function generation({ limit = 100, thinks = false, ...change }: Options): EngineSequence {
  const request = plainRequest({ logprobs: { top: 2, prompt: false }, ...change });
  const wanted = request.logprobs!;
  return new EngineSequence({
    request,
    index: 0,
    arrival: 0,
    scope: "",
    promptTokens: [A!, B!],
    limit,
    sampler: Object.create(Sampler.prototype),
    rules: null,
    constraint: null,
    thoughts: null,
    logprobs: new SequenceLogprobs({ wanted, prompt: [A!, B!], opening: 0, vocabulary: VOCABULARY }),
    text: new SequenceText({ stop: request.stop, reasoningTags: thinks ? TAGS : null, startsInReasoning: false }),
  });
}

/** Every token is drawn from a row in which it is the likeliest; `every` says how many are drawn before text is made. */
function drive(subject: EngineSequence, tokens: readonly number[], every = 1): SequenceOutput[] {
  const outputs = [];
  for (const [i, token] of tokens.entries()) {
    const row = new Float32Array(PIECES.length);
    row[token] = 3;
    subject.logprobs!.read(row, false);
    subject.logprobs!.draw(token);
    subject.accept(token, VOCABULARY);
    if ((i + 1) % every !== 0 && !subject.finished && i < tokens.length - 1) continue;
    outputs.push(subject.output(VOCABULARY)!);
    if (outputs.at(-1)!.finish) break;
  }
  return outputs;
}

function sent(outputs: readonly SequenceOutput[]): string[] {
  return outputs.map(({ logprobs }) => Buffer.concat(logprobs!.map(({ bytes }) => bytes)).toString("latin1"));
}

test("each token has its text, its log probability and the best alternatives", () => {
  const [first, second] = drive(generation({}), [A!, B!]);
  const logSum = Math.log(Math.exp(3) + PIECES.length - 1);
  expect(first).toMatchObject({ text: "a" });
  expect(first!.logprobs).toEqual([
    {
      bytes: PIECES[A!],
      logprob: expect.closeTo(3 - logSum, 6),
      top: [
        { bytes: PIECES[A!], logprob: expect.closeTo(3 - logSum, 6) },
        { bytes: PIECES[B!], logprob: expect.closeTo(-logSum, 6) },
      ],
    },
  ]);
  expect(second!.logprobs![0]!.bytes).toEqual(PIECES[B!]);
});

test.each<[string, Options, number[], string[]]>([
  ["both halves of a character come with it", {}, [A!, HALF!, REST!], ["a", "", "\xe2\x82\xac"]],
  ["the token that ends an answer has no entry", {}, [A!, END!], ["a", ""]],
  ["an end token that is ignored has its name", { ignoreEos: true }, [A!, END!, B!], ["a", "", "<end>b"]],
  ["tokens of a stop string have no entry", { stop: ["stop"] }, [A!, ST!, OP!], ["a", "", ""]],
  ["tokens that only begin like a stop string have one", { stop: ["stop"] }, [A!, ST!, B!], ["a", "", "stb"]],
  ["tokens that are held back at the end have one", { stop: ["stop"], limit: 2 }, [A!, ST!], ["a", "st"]],
  ["a token that a stop string cuts has its whole entry", { stop: ["t"] }, [A!, ST!], ["a", "st"]],
  ["reasoning has no entries", { thinks: true }, [OPEN!, A!, CLOSE!, SPACE!, B!], ["", "", "", "", "b"]],
  ["text that might have been reasoning has entries", { thinks: true }, [SPACE!, B!], ["", " b"]],
])("%s", (_, options, tokens, expected) => {
  expect(sent(drive(generation(options), tokens))).toEqual(expected);
});

test("the bytes of the entries are those of the text sent so far, in every step", () => {
  const drawn = fc.array(fc.constantFrom(A!, B!, ST!, OP!, SPACE!), { minLength: 1, maxLength: 12 });
  const stops = fc.constantFrom<string[][]>([], ["stop"], ["b a", "st"]);
  fc.assert(
    fc.property(drawn, stops, fc.integer({ min: 1, max: 4 }), (tokens, stop, every) => {
      const outputs = drive(generation({ stop, limit: 12 }), tokens, every);
      let text = "";
      let bytes = "";
      for (const output of outputs) {
        text += output.text;
        bytes += sent([output])[0];
        // A token has its whole entry, also where only its beginning is sent.
        expect(bytes.startsWith(text)).toBe(true);
        expect(bytes.length - text.length).toBeLessThan(2);
      }
    }),
  );
});

test("each prompt token after the first is scored once, however often it is computed", () => {
  const trail = new SequenceLogprobs({
    wanted: { top: 1, prompt: true },
    prompt: [A!, B!, ST!],
    opening: 0,
    vocabulary: VOCABULARY,
  });
  for (const position of [0, 1, 0, 1, 2]) {
    if (!trail.needs(position)) continue;
    const row = new Float32Array(PIECES.length);
    row[position + 1] = 5;
    trail.score(position, row);
  }
  const prompt = trail.takePrompt()!;
  expect(prompt.map(({ bytes }) => bytes.toString())).toEqual(["a", "b", "st"]);
  expect(prompt.map(({ logprob }) => logprob === null)).toEqual([true, false, false]);
  expect(prompt[1]!.logprob).toBeCloseTo(5 - Math.log(Math.exp(5) + PIECES.length - 1), 6);
  expect(prompt[2]!.top).toHaveLength(1);
  expect(trail.takePrompt()).toBeNull();
});

test("an opening token has no entry, and the tokens after it are scored", () => {
  const prompt = [END!, A!];
  const trail = new SequenceLogprobs({ wanted: { top: 0, prompt: true }, prompt, opening: 1, vocabulary: VOCABULARY });
  trail.score(0, new Float32Array(PIECES.length));
  expect(trail.takePrompt()).toMatchObject([{ bytes: PIECES[A!], logprob: expect.closeTo(-Math.log(PIECES.length)) }]);
});
