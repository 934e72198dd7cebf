import { describe, expect, test } from "vitest";
import { deepState } from "../../../../../engine/worker/calibration/deep-state.ts";

const uint32 = (...values: number[]) => Buffer.from(Uint32Array.from(values).buffer);
const rowsOf = (type: number, row: number[]) => {
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(row.length));
  return Buffer.concat([uint32(type), size, Buffer.from(row)]);
};

/** Magic and id, streams of which the second has one cell; keys of two layers; values as given. */
function state(transposed: 0 | 1, values: Buffer[], count = 1): Buffer {
  const cell = uint32(5, 1, 7);
  const keys = [rowsOf(1, [10, 11]), rowsOf(1, [20, 21])];
  return Buffer.concat([uint32(99, 0, 2, 0, count), cell, uint32(transposed, 2), ...keys, ...values]);
}

describe("a state of one cell becomes one of many", () => {
  test("with rows of values", () => {
    const wide = deepState(state(0, [rowsOf(1, [30]), rowsOf(1, [40])]), 3);
    const repeated = (row: number[]) => [...row, ...row, ...row];
    const size = (bytes: number) => [bytes, 0, 0, 0, 0, 0, 0, 0];
    const one = [1, 0, 0, 0];
    expect([...wide!]).toEqual([
      ...uint32(99, 0, 2, 0, 3),
      ...uint32(0, 1, 7, 1, 1, 7, 2, 1, 7),
      ...uint32(0, 2),
      ...[...one, ...size(2), ...repeated([10, 11]), ...one, ...size(2), ...repeated([20, 21])],
      ...[...one, ...size(1), ...repeated([30]), ...one, ...size(1), ...repeated([40])],
    ]);
  });

  test("with transposed values, element by element", () => {
    const layer = (a: number, b: number) => Buffer.concat([uint32(1, 1, 2), Buffer.from([a, b])]);
    const wide = deepState(state(1, [layer(30, 31), layer(40, 41)]), 2);
    expect([...wide!].slice(-30)).toEqual(
      [...uint32(1, 1, 2), 30, 30, 31, 31, ...uint32(1, 1, 2), 40, 40, 41, 41].slice(-30),
    );
  });

  test("with the recurrent state of a hybrid model, which moves to the last position", () => {
    const recurrent = (position: number) => uint32(1, position, 0, 0, 2, 8, 9);
    const attention = state(0, [rowsOf(1, [30]), rowsOf(1, [40])]);
    const wide = deepState(Buffer.concat([attention, recurrent(0)]), 3);
    expect(wide).toEqual(Buffer.concat([deepState(attention, 3)!, recurrent(2)]));
    expect(deepState(Buffer.concat([attention, uint32(1, 0, 1, 0, 2, 8, 9)]), 3)).toBeNull();
    expect(deepState(Buffer.concat([attention, uint32(2, 0, 0, 0, 2, 8, 9)]), 3)).toBeNull();
    expect(deepState(Buffer.concat([attention, uint32(1, 0, 0, 1, 2, 8, 9)]), 3)).toBeNull();
  });

  test.each([
    ["that ends early", state(0, [rowsOf(1, [30])])],
    ["with bytes behind it", state(0, [rowsOf(1, [30]), rowsOf(1, [40]), Buffer.from([1])])],
    ["of several cells", state(0, [rowsOf(1, [30]), rowsOf(1, [40])], 2)],
    ["of another form", Buffer.alloc(64, 255)],
    ["that is empty", Buffer.alloc(0)],
  ])("but not one %s", (_, bytes) => {
    expect(deepState(bytes, 8)).toBeNull();
  });
});
