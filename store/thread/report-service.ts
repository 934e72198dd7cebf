import type { MessagePort } from "node:worker_threads";
import { operationsOf, tables } from "../tables/tables.ts";
import { openCopier, openReader } from "./database.ts";
import { COPY_LOG, type FromStore, namesOf, type ToStore } from "./messages.ts";
import { storeError } from "./sqlite-error.ts";
import { copyLog } from "./write-ahead-log.ts";

/**
 * Answers reports, one at a time, on its own connection, and copies the write-ahead log on another, in parallel to the
 * store's thread.
 */
export function serveReports(port: MessagePort, dataDir: string): void {
  const post = (message: FromStore) => port.postMessage(message);
  const database = openReader(dataDir);
  const copier = openCopier(dataDir);
  const reports = operationsOf(tables(database), "reports");
  const operations = new Map([...reports, [`${COPY_LOG.table}.${COPY_LOG.name}`, () => copyLog(copier)]]);
  port.on("message", (message: ToStore) => {
    if (message.type === "close") {
      copier.close();
      database.close();
      post({ type: "closed" });
      port.close();
      return;
    }
    if (message.type !== "call") return;
    const { id, table, name, args } = message;
    try {
      const operation = operations.get(`${table}.${name}`);
      if (operation === undefined) throw new Error(`The store has no report ${table}.${name}`);
      post({ type: "replies", replies: [{ id, result: operation(...args) }] });
    } catch (error) {
      const { code, message } = storeError(error);
      post({ type: "replies", replies: [{ id, error: { code, message } }] });
    }
  });
  post({ type: "opened", operations: namesOf([...reports.keys()]) });
}
