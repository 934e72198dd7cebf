import { parentPort, workerData } from "node:worker_threads";
import { askFor } from "./responsive-work.ts";

parentPort?.postMessage(await askFor(workerData));
