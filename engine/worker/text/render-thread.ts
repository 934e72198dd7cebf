/** A thread that renders long prompts beside the steps. */
import { parentPort, workerData } from "node:worker_threads";
import { serveRendering } from "./rendering.ts";

if (parentPort === null) throw new Error("The thread that renders prompts was started as a program");
serveRendering(parentPort, workerData);
