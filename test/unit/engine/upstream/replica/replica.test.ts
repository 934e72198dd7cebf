import { describe, expect, it } from "vitest";
import { Replica } from "../../../../../engine/upstream/replica/replica.ts";

function setUp() {
  const clock = { ms: 0, now: () => clock.ms };
  return { clock, replica: new Replica("http://a/v1", clock) };
}

describe("the objective that online requests show by themselves", () => {
  it("is 2 s before eight of them began without flex or batch", () => {
    const { replica } = setUp();
    for (let i = 0; i < 7; i++) replica.begun(100, true);
    for (let i = 0; i < 9; i++) replica.begun(100, false);
    expect(replica.objectiveMs).toBe(2000);
    replica.begun(100, true);
    expect(replica.objectiveMs).toBe(125);
  });

  it("is a quarter above their 95th percentile, however old they are", () => {
    const { clock, replica } = setUp();
    for (let ms = 1; ms <= 20; ms++) replica.begun(ms * 10, true);
    clock.ms += 3_600_000;
    expect(replica.objectiveMs).toBe(190 * 1.25);
    expect(replica.ttft.quantile(0.95)).toBeNull();
  });

  it("is 50 ms at least and 2 s at most", () => {
    const { replica } = setUp();
    for (let i = 0; i < 8; i++) replica.begun(1, true);
    expect(replica.objectiveMs).toBe(50);
    for (let i = 0; i < 64; i++) replica.begun(10_000, true);
    expect(replica.objectiveMs).toBe(2000);
  });
});

it("a replica is alone until a request of flex or batch is in flight", () => {
  const { replica } = setUp();
  const online = replica.enter("default", 1, false)!;
  expect(replica.alone).toBe(true);
  const batch = replica.enter("batch", 1, false)!;
  expect(replica.alone).toBe(false);
  batch.leave("clean", false);
  online.leave("clean", false);
  expect(replica.alone).toBe(true);
});
