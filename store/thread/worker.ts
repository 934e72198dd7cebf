import { parentPort, workerData } from "node:worker_threads";
import { faultOf } from "./database.ts";
import type { StoreWork } from "./messages.ts";
import { serveReports } from "./report-service.ts";
import { serveStore } from "./service.ts";

if (parentPort === null) throw new Error("The store's thread must be started as a worker, not as a program");
const { part, dataDir }: StoreWork = workerData;
if (part === "store") serveStore(parentPort, dataDir);
else if (part === "reports") serveReports(parentPort, dataDir);
else parentPort.postMessage(faultOf(dataDir));
