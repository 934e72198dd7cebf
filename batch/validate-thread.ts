import { closeSync, openSync, readSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { validateFile } from "./validate-file.ts";
import type { ToValidation, ValidationJob } from "./validation.ts";

if (parentPort === null) throw new Error("The validation's thread was started as a program");
const port = parentPort;
const { path, rules }: ValidationJob = workerData;

/** Chunks that may be on their way to the database: enough to keep it busy, few enough to hold in memory. */
let credit = 3;
let wake = () => {};
port.on("message", (message: ToValidation) => {
  if (message.type === "taken") credit++;
  wake();
});

const outcome = await validateFile(chunksOf(path), rules, async (lines) => {
  while (credit === 0) {
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  credit--;
  port.postMessage({ type: "lines", lines });
});
port.postMessage({ type: "outcome", outcome });
port.close();

/** Into one buffer again and again, as nobody keeps a chunk: new ones pile up by tens of megabytes between collections. */
async function* chunksOf(path: string): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(256 * 1024);
  const file = openSync(path, "r");
  try {
    for (let bytes = readSync(file, buffer); bytes > 0; bytes = readSync(file, buffer)) yield buffer.subarray(0, bytes);
  } finally {
    closeSync(file);
  }
}
