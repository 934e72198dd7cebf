import { expect, test } from "vitest";
import { ReportQueue } from "../../../ledger/report-queue.ts";

const forever = new AbortController().signal;

/** A report that ends on the test's call. */
function held() {
  let end = () => {};
  let begun = false;
  const ended = new Promise<string>((resolve) => {
    end = () => resolve("sums");
  });
  return {
    report: () => {
      begun = true;
      return ended;
    },
    end,
    get begun() {
      return begun;
    },
  };
}

test("reports of one owner run one at a time, in parallel to other owners'", async () => {
  const queue = new ReportQueue();
  const [first, second, other] = [held(), held(), held()];
  const done = queue.run("a", first.report, forever);
  const next = queue.run("a", second.report, forever);
  const beside = queue.run("b", other.report, forever);
  other.end();
  expect(await beside).toBe("sums");
  expect([first.begun, second.begun]).toEqual([true, false]);
  first.end();
  second.end();
  expect(await Promise.all([done, next])).toEqual(["sums", "sums"]);
});

test("an aborted report does not run, and a failed one does not block the next", async () => {
  const queue = new ReportQueue();
  const leaving = new AbortController();
  const failed = queue.run("a", () => Promise.reject(new Error("store")), forever);
  const left = held();
  const gone = queue.run("a", left.report, leaving.signal);
  leaving.abort();
  await expect(failed).rejects.toThrow("store");
  await expect(gone).rejects.toMatchObject({ name: "AbortError" });
  expect(left.begun).toBe(false);
  expect(await queue.run("a", async () => "sums", forever)).toBe("sums");
});

test("an owner's tenth concurrent report is rejected, and none after they have ended", async () => {
  const queue = new ReportQueue();
  const first = held();
  const running = Array.from({ length: 9 }, () => queue.run("a", first.report, forever));
  expect(() => queue.run("a", first.report, forever)).toThrow(/already queued/);
  expect(await queue.run("b", async () => "sums", forever)).toBe("sums");
  first.end();
  await Promise.all(running);
  expect(await queue.run("a", async () => "sums", forever)).toBe("sums");
});
