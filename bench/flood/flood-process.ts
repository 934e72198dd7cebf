import { constants, setPriority } from "node:os";
import { Flood, type FloodOrder } from "./flood-client.ts";

/** Runs a flood in its own process: the first message is the order, the second requests the counts and ends it. */
// The flood stands for other machines, so it must not compete with this one's server for the CPU.
setPriority(constants.priority.PRIORITY_LOW);
let flood: Flood | null = null;
process.on("message", (message: FloodOrder | "stop") => {
  if (message !== "stop") {
    flood = new Flood(message);
    flood.start();
  } else if (flood !== null) {
    process.send?.(flood.counts, () => process.exit());
  }
});
process.once("disconnect", () => process.exit());
