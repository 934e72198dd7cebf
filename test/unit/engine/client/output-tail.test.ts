import { describe, expect, it } from "vitest";
import { OutputTail } from "../../../../engine/client/output-tail.ts";

function tailOf(chunks: (string | Buffer)[], maxLines = 3, maxLength = 10): { tail: OutputTail; said: string[] } {
  const said: string[] = [];
  const tail = new OutputTail((line) => said.push(line), maxLines, maxLength);
  for (const chunk of chunks) tail.push(Buffer.from(chunk));
  return { tail, said };
}

describe("the last lines of a process", () => {
  it("are whole lines for every split of the bytes", () => {
    const bytes = Buffer.from("äö\nü\r\n");
    const { said } = tailOf([bytes.subarray(0, 1), bytes.subarray(1, 3), bytes.subarray(3)]);
    expect(said).toEqual(["äö", "ü"]);
  });

  it("keep the newest, and an unfinished one", () => {
    const { tail, said } = tailOf(["1\n2\n\n3\n4\nhal", "f"]);
    expect(said).toEqual(["1", "2", "3", "4"]);
    expect(tail.lines).toEqual(["2", "3", "4", "half"]);
  });

  it("are cut at the bound, and the rest takes no memory", () => {
    const { tail, said } = tailOf(["0123456", "789abc", "def\nx\n"]);
    expect(said).toEqual(["0123456789", "x"]);
    expect(tail.lines).toEqual(["0123456789", "x"]);
  });
});
