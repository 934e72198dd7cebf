import { describe, expect, it } from "vitest";
import { type ReplicaModel, Simulation } from "../simulated-replica.ts";

describe("ConcurrencyLimit at a simulated replica", () => {
  const MODEL: ReplicaModel = { slots: 32, queue: Number.POSITIVE_INFINITY, serviceMs: 2000, scraped: true };

  it("settles at the capacity of one that never refuses", () => {
    for (const initial of [1, 8, 200]) {
      const simulation = new Simulation(MODEL, initial);
      simulation.run(600);
      expect(simulation.refusals).toBe(0);
      expect(simulation.mean(60)).toBeGreaterThanOrEqual(32);
      expect(simulation.mean(60)).toBeLessThanOrEqual(40);
    }
  });

  it("settles near the capacity of one that refuses, without metrics", () => {
    for (const initial of [8, 200]) {
      const simulation = new Simulation({ ...MODEL, queue: 0, scraped: false }, initial);
      simulation.run(900);
      expect(simulation.mean(300)).toBeGreaterThan(20);
      expect(simulation.mean(300)).toBeLessThan(36);
      const before = { refusals: simulation.refusals, answers: simulation.answers };
      simulation.run(300);
      const refused = simulation.refusals - before.refusals;
      expect(refused / (simulation.answers - before.answers)).toBeLessThan(0.05);
    }
  });

  it("is quiet for as long as refusals ask", () => {
    const simulation = new Simulation({ ...MODEL, queue: 0, scraped: false, retryAfterMs: 5000 });
    simulation.run(600);
    expect(simulation.refusals).toBeLessThan(50);
  });

  it("gives way to online work, and takes the place again", () => {
    const simulation = new Simulation(MODEL);
    simulation.run(600);
    simulation.run(120, 20);
    // Twelve slots are left.
    expect(simulation.mean(60)).toBeLessThanOrEqual(13);
    expect(simulation.mean(60)).toBeGreaterThan(5);
    expect(simulation.onlineWaitMs).toBeLessThan(1000);
    simulation.run(600);
    expect(simulation.mean(60)).toBeGreaterThanOrEqual(32);
  });

  it("gives way by TTFT alone where the replica has no metrics", () => {
    const simulation = new Simulation({ ...MODEL, scraped: false }, 60);
    simulation.run(10);
    simulation.run(300, 20);
    // It swings about the twelve slots that are left: only a wait over the objective shows that there are no more.
    expect(simulation.mean(200)).toBeLessThan(20);
    expect(simulation.mean(200)).toBeGreaterThan(3);
  });
});
