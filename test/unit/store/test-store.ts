import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MessageChannel } from "node:worker_threads";
import { onTestFinished } from "vitest";
import { connectStore, type Store, type StoreThread } from "../../../store/store.ts";
import { faultOf, isLarge, pathOf } from "../../../store/thread/database.ts";
import { serveReports } from "../../../store/thread/report-service.ts";
import { serveStore } from "../../../store/thread/service.ts";

/** A folder that is removed after the test. */
export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "nightshift-store-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The real store behind a real port, in the test's own thread, so that no build is needed. */
export async function openTestStore(dataDir: string): Promise<Store> {
  const start = (part: "store" | "reports"): StoreThread => {
    const { port1, port2 } = new MessageChannel();
    const ended = new Promise<string>((resolve) => port1.once("close", () => resolve("it ended")));
    if (part === "store") serveStore(port2, dataDir);
    else serveReports(port2, dataDir);
    return { port: port1, ended, busyMs: () => performance.eventLoopUtilization().active };
  };
  const check = async () => (isLarge(pathOf(dataDir)) ? faultOf(dataDir) : null);
  return connectStore({ start, check }, { info() {}, error() {} });
}

/** The same; it is closed after the test. */
export async function testStore(dataDir: string = freshFolder()): Promise<Store> {
  const store = await openTestStore(dataDir);
  onTestFinished(() => store.close());
  return store;
}

/** A store in its own folder; `end` closes it and removes the folder. For hooks that run outside of a test. */
export async function freshStore(): Promise<{ store: Store; folder: string; end: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "nightshift-store-"));
  const store = await openTestStore(folder);
  const end = async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { store, folder, end };
}
