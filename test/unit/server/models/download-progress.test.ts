import { expect, it } from "vitest";
import { startProgress } from "../../../../server/models/download-progress.ts";

it("redraws one line on a terminal, within its width and a maximum rate", () => {
  let now = 0;
  const written: string[] = [];
  const terminal = { isTTY: true, columns: 60, write: (text: string) => written.push(text) };
  const progress = startProgress("demo", { terminal, log: () => expect.unreachable(), now: () => now });
  for (let done = 0; done <= 1000; done++) {
    now = done;
    progress.update(done * 1e6, 1000e6);
  }
  progress.end();
  expect(written).toHaveLength(12);
  const half = `\r\x1b[2Kdemo ${"█".repeat(12)}${"░".repeat(12)} 50 %, 500.0 MB of 1.00 GB, `;
  expect(written[5]?.slice(0, half.length)).toBe(half.slice(0, written[5]?.length));
  expect(written[10]).toContain("100 %");
  for (const text of written) expect(text.replace("\r\x1b[2K", "").length).toBeLessThan(60);
  expect(written.at(-1)).toBe("\n");
});

it("writes a line per tenth or per ten seconds elsewhere", () => {
  let now = 0;
  const lines: string[] = [];
  const progress = startProgress("demo", {
    terminal: { write: () => expect.unreachable() },
    log: (line) => lines.push(line),
    now: () => now,
  });
  for (let done = 0; done <= 100; done++) {
    now = done * 100;
    progress.update(done * 1e6, 100e6);
  }
  progress.end();
  expect(lines).toHaveLength(11);
  expect(lines[0]).toBe("demo 0 %, 0 bytes of 100.0 MB");
  expect(lines[5]).toBe("demo 50 %, 50.0 MB of 100.0 MB, 10.0 MB/s, 5 s left");
  expect(lines[10]).toBe("demo 100 %, 100.0 MB of 100.0 MB, 10.0 MB/s");

  now += 9999;
  progress.update(100e6, 100e6);
  now += 1;
  progress.update(100e6, 100e6);
  expect(lines).toHaveLength(12);
});
