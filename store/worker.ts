import { parentPort, workerData } from "node:worker_threads";
import { serveStore } from "./service.ts";

if (parentPort === null) throw new Error("The store's thread was started as a program");
serveStore(parentPort, String(workerData));
