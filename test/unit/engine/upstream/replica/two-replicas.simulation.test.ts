import { expect, test } from "vitest";
import { SimulatedReplicas } from "./simulated-pair.ts";

test("two replicas generate 1.9 times the tokens of one, and shared prompts stay where they were sent", async () => {
  const [one, two] = [new SimulatedReplicas(1), new SimulatedReplicas(2)];
  const [alone, both] = [await one.run(120), await two.run(120)];
  expect(both / alone).toBeGreaterThanOrEqual(1.9);
  expect(two.repeated).toBeGreaterThan(1000);
  expect(two.followed / two.repeated).toBeGreaterThanOrEqual(0.9);
});
