import { constants, setPriority } from "node:os";
import { Flood, type FloodOrder } from "./flood-client.ts";

/** As a process of its own: the first message is the order, the second asks for the counts and ends it. */
// It stands for other machines, so it shall not take the processor from this one's server.
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
