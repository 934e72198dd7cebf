import { expect, test } from "vitest";
import type { FromEngine } from "../../../../../engine/protocol/messages.ts";
import type { Tier } from "../../../../../engine/protocol/request.ts";
import { Embedder } from "../../../../../engine/worker/embedding/embedder.ts";
import type { EmbeddingPlan } from "../../../../../engine/worker/native/embedding-plan.ts";

const PLAN: EmbeddingPlan = {
  pooling: "mean",
  width: 1,
  whole: false,
  context: 1000,
  batchTokens: 64,
  togetherTokens: 64,
  besideTokens: 40,
  cells: 1100,
  few: null,
  bytes: 0,
};

/** An embedder over contexts that compute nothing, and record which ids hold cells and which pieces were complete. */
function makeEmbedder() {
  const posted: FromEngine[] = [];
  const held = new Set<number>();
  const pieces: { tokens: number; complete: boolean }[] = [];
  const gates: (() => void)[] = [];
  let hold = false;
  let left = () => {};
  const context = {
    batch: { clear() {}, add: (_token: number, _position: number, id: number) => held.add(id).size },
    decode: () => (hold ? new Promise<void>((resolve) => gates.push(resolve)) : Promise.resolve()),
    pooled: () => Float32Array.of(1),
  };
  const embedder = new Embedder({
    plan: PLAN,
    inputs: {
      async ofAll(inputs, { isWanted }) {
        await Promise.resolve();
        const wanted = isWanted();
        left();
        return wanted ? inputs.map((input) => (input.kind === "tokens" ? input.tokens : [])) : null;
      },
    },
    open: () => ({
      for(tokens, complete) {
        pieces.push({ tokens, complete });
        return context;
      },
      remove: (id) => held.delete(id),
    }),
    now: () => 0,
    post: (message) => posted.push(message),
    wake() {},
  });
  const submit = (id: number, lengths: number[], tier: Tier = "default", owner = "o") => {
    const inputs = lengths.map((length) => ({ kind: "tokens" as const, tokens: new Array<number>(length).fill(7) }));
    return embedder.submit({ id, tier, owner, endpoint: "/v1/embeddings", inputs });
  };
  const answered = () =>
    posted.flatMap((message) => (message.type === "piece" ? message.vectors.map(({ id, index }) => [id, index]) : []));
  const pieceThatWaits = () => {
    hold = true;
    const piece = embedder.piece(Number.POSITIVE_INFINITY, false);
    hold = false;
    return { piece, release: () => gates.pop()!() };
  };
  const afterReading = (leave: () => void) => {
    left = leave;
  };
  return { embedder, submit, answered, held, pieces, posted, pieceThatWaits, afterReading };
}

const piece = (embedder: Embedder) => embedder.piece(Number.POSITIVE_INFINITY, false);

test("a cancelled request removes all of its waiting inputs", async () => {
  const { embedder, submit, answered, held } = makeEmbedder();
  await submit(1, [10, 10, 10]);
  expect(embedder.workClass).toBe("online");
  embedder.cancel(1);
  expect(embedder.workClass).toBe("nothing");
  await submit(2, [10]);
  await piece(embedder);
  expect(answered()).toEqual([[2, 0]]);
  expect(held.size).toBe(0);
});

test("a request cancelled while its last text is tokenized is neither accepted nor computed", async () => {
  const { embedder, submit, posted, afterReading } = makeEmbedder();
  afterReading(() => embedder.cancel(1));
  await submit(1, [10]);
  expect(posted).toEqual([]);
  expect(embedder.workClass).toBe("nothing");
});

test("a request cancelled during its batch gets no vector, and the next batch frees its cells", async () => {
  const { embedder, submit, answered, held, pieceThatWaits } = makeEmbedder();
  await submit(1, [10, 200]);
  await submit(2, [5]);
  const running = pieceThatWaits();
  embedder.cancel(1);
  running.release();
  await running.piece;
  expect(answered()).toEqual([]);
  await piece(embedder);
  expect(answered()).toEqual([[2, 0]]);
  expect(held.size).toBe(0);
  expect(embedder.workClass).toBe("nothing");
});

test("a request cancelled while its texts are tokenized is never accepted", async () => {
  const { embedder, submit, posted } = makeEmbedder();
  const submitted = submit(1, [10]);
  embedder.cancel(1);
  await submitted;
  expect(posted).toEqual([]);
  expect(embedder.workClass).toBe("nothing");
});

test("cancelling an answered request has no effect", async () => {
  const { embedder, submit, answered } = makeEmbedder();
  await submit(1, [10]);
  await piece(embedder);
  expect(answered()).toEqual([[1, 0]]);
  expect(embedder.cancel(1)).toBe(false);
});

test("only a batch of whole inputs may run in the small context", async () => {
  const { embedder, submit, pieces } = makeEmbedder();
  await submit(1, [20, 100]);
  while (embedder.workClass !== "nothing") await piece(embedder);
  await submit(2, [20, 30]);
  await piece(embedder);
  expect(pieces).toEqual([
    { tokens: 64, complete: false },
    { tokens: 56, complete: false },
    { tokens: 50, complete: true },
  ]);
});

test("a batch of several inputs has fewer tokens beside streams", async () => {
  const { embedder, submit, pieces } = makeEmbedder();
  await submit(1, [20, 20, 20]);
  await embedder.piece(Number.POSITIVE_INFINITY, true);
  expect(pieces).toEqual([{ tokens: 40, complete: true }]);
});

test("a partly computed input that waits for a higher tier ends after it, with its own cells", async () => {
  const { embedder, submit, answered, held } = makeEmbedder();
  await submit(1, [100], "batch");
  await piece(embedder);
  await submit(2, [100], "default");
  while (embedder.workClass !== "nothing") await piece(embedder);
  expect(answered()).toEqual([
    [2, 0],
    [1, 0],
  ]);
  expect(held.size).toBe(0);
});

test("inputs are ordered by the fair queue over owners, after the partly computed one", async () => {
  const { embedder, submit, answered, held } = makeEmbedder();
  await submit(1, [40, 40, 40, 40], "default", "flood");
  await piece(embedder);
  expect([answered(), held.size]).toEqual([[[1, 0]], 1]);
  await submit(2, [10, 10], "default", "other");
  await piece(embedder);
  expect(answered()).toEqual([
    [1, 0],
    [1, 1],
    [2, 0],
    [2, 1],
  ]);
  await piece(embedder);
  expect(answered().slice(4)).toEqual([
    [1, 2],
    [1, 3],
  ]);
  expect([held.size, embedder.workClass]).toEqual([0, "nothing"]);
});
