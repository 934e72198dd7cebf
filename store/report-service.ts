import type { MessagePort } from "node:worker_threads";
import { openReader } from "./database.ts";
import { type FromStore, namesOf, type ToStore } from "./messages.ts";
import { storeError } from "./sqlite-error.ts";
import { operationsOf, tables } from "./tables.ts";

/** Answers reports, one after the other, on a connection of its own: the store's thread serves on beside them. */
export function serveReports(port: MessagePort, dataDir: string): void {
  const post = (message: FromStore) => port.postMessage(message);
  const database = openReader(dataDir);
  const reports = operationsOf(tables(database), "reports");
  port.on("message", (message: ToStore) => {
    if (message.type === "close") {
      database.close();
      post({ type: "closed" });
      port.close();
      return;
    }
    const { id, table, name, args } = message;
    try {
      const report = reports.get(`${table}.${name}`);
      if (report === undefined) throw new Error(`The store has no report ${table}.${name}`);
      post({ type: "replies", replies: [{ id, result: report(...args) }] });
    } catch (error) {
      const { code, message } = storeError(error);
      post({ type: "replies", replies: [{ id, error: { code, message } }] });
    }
  });
  post({ type: "opened", operations: namesOf([...reports.keys()]) });
}
