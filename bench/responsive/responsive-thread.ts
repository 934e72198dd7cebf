import { parentPort, workerData } from "node:worker_threads";
import { requestWork } from "./responsive-work.ts";

parentPort?.postMessage(await requestWork(workerData));
