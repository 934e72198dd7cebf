import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type InputLine, inputLines } from "../../../../batch/validation/input-lines.ts";
import { validateFile } from "../../../../batch/validation/validate-file.ts";
import { chatLine } from "../../../batch/batch-rig.ts";
import { check, inChunks, RULES } from "./check-file.ts";

const GOOD = chatLine("a", "hi");

describe("lines of an input file", () => {
  it("are the same for every size of chunk", async () => {
    const content = fc.array(fc.constantFrom("a", "\n", "\r\n", "\uFEFF", " ", "é", "{}"), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(content, fc.integer({ min: 1, max: 9 }), async (parts, size) => {
        const bytes = Buffer.from(parts.join(""));
        const read = async (chunk: number) => {
          const lines: InputLine[] = [];
          for await (const some of inputLines(inChunks(bytes, chunk), 1000)) lines.push(...some);
          return lines.map((line) => ({ ...line, bytes: Buffer.from(line.bytes ?? []).toString("hex") }));
        };
        const whole = await read(1000);
        expect(await read(size)).toEqual(whole);
        for (const { offset, bytes: hex } of whole) {
          expect(bytes.subarray(offset, offset + hex.length / 2).toString("hex")).toBe(hex);
        }
      }),
    );
  });

  it("may follow a byte order mark, CRLF and blank lines, all of which their numbers count", async () => {
    const text = `\uFEFF${JSON.stringify(GOOD)}\r\n\r\n\n${JSON.stringify(chatLine("b", "ho"))}`;
    for (const chunk of [1, 7, 1000]) {
      const { outcome, lines } = await check(text, {}, chunk);
      expect(outcome).toEqual({ valid: true, model: "demo", lines: 2 });
      expect(lines.map(({ number, offset, length }) => [number, offset, length])).toEqual([
        [1, 3, JSON.stringify(GOOD).length],
        [4, 3 + JSON.stringify(GOOD).length + 5, JSON.stringify(chatLine("b", "ho")).length],
      ]);
    }
  });

  it("that are blank are skipped without a pause for each", async () => {
    let paces = 0;
    const chunk = Buffer.alloc(256 * 1024, " \n\r\n\t\n\n");
    async function* blank() {
      for (let i = 0; i < 20; i++) yield chunk;
      yield Buffer.from(JSON.stringify(GOOD));
    }
    const outcome = await validateFile(
      blank(),
      RULES,
      async () => {},
      async () => void paces++,
    );
    expect(outcome).toEqual({ valid: true, model: "demo", lines: 1 });
    // One for the line that is not blank, and at most one for a blank line that a chunk's end cuts.
    expect(paces).toBeLessThanOrEqual(1);
  });

  it("are not kept in memory beyond their bound", async () => {
    const chunk = Buffer.alloc(1024 * 1024, "x");
    async function* huge() {
      for (let i = 0; i < 200; i++) yield chunk;
      yield Buffer.from(`\n${JSON.stringify(GOOD)}\n`);
    }
    const before = process.memoryUsage().arrayBuffers;
    const outcome = await validateFile(
      huge(),
      RULES,
      async () => {},
      async () => {},
    );
    expect(outcome).toMatchObject({ valid: false, errors: [{ code: "invalid_request", line: 1 }] });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20 * 1024 * 1024);
  });
});
