import { once } from "node:events";
import pino, { type Logger } from "pino";

export interface LogSettings {
  level: string;
  /** auto is pretty on a terminal, else JSON. */
  format: "auto" | "json" | "pretty";
  /** Where lines go; stderr unless a test reads them. */
  descriptor?: number;
}

export interface ServerLog {
  logger: Logger;
  /** Resolves when all lines are written; where nobody reads them, they are given up after a second. */
  flush(): Promise<void>;
  /** For the process's last act: gives up what nobody reads, for which Node would wait at its exit, for ever. */
  release(): void;
  /** Lines that nobody read in time, and that were dropped. */
  dropped(): number;
}

const STDERR = 2;

/**
 * A reader that stands still must not hold up token streams: lines are written asynchronously, and from 4 MB of unread
 * ones on new lines are dropped.
 */
const UNREAD_LIMIT = 4 * 1024 * 1024;
/** A reader that took nothing for so long is taken for one that stands still. */
const PATIENCE_MS = 1000;

/** Logs go to stderr, so that stdout carries only what was asked for. */
export async function openLog(settings: LogSettings): Promise<ServerLog> {
  const destination = pino.destination({ dest: settings.descriptor ?? STDERR, sync: false, maxLength: UNREAD_LIMIT });
  let dropped = 0;
  let released = false;
  /** Since when lines wait to be written; null while all are. */
  let waitingSince: number | null = null;
  destination.on("drain", () => {
    waitingSince = null;
  });
  const lines = {
    write(line: string): void {
      if (released) {
        dropped++;
        return;
      }
      waitingSince ??= performance.now();
      destination.write(line);
    },
  };
  destination.on("drop", () => {
    dropped++;
  });
  // Without a listener a closed stderr would end the process. Nobody will read it ever again.
  destination.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") return;
    released = true;
    waitingSince = null;
  });
  const pretty = settings.format === "pretty" || (settings.format === "auto" && process.stderr.isTTY === true);
  const base = { level: settings.level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  const logger = pino(base, pretty ? await prettyLines(lines) : lines);
  const giveUp = () => {
    released = true;
    destination.destroy();
  };
  const flush = async () => {
    if (waitingSince === null) return;
    await once(destination, "drain", { signal: AbortSignal.timeout(PATIENCE_MS) }).catch(giveUp);
  };
  const release = () => {
    if (waitingSince !== null && performance.now() - waitingSince >= PATIENCE_MS) giveUp();
  };
  return { logger, flush, release, dropped: () => dropped };
}

/** pino-pretty as a function, not as a stream: its streams buffer without bound. */
async function prettyLines(destination: { write(line: string): unknown }): Promise<{ write(line: string): void }> {
  const { prettyFactory } = await import("pino-pretty");
  const prettify = prettyFactory({
    colorize: process.stderr.isTTY === true && !process.env.NO_COLOR,
    translateTime: "SYS:HH:MM:ss.l",
    singleLine: true,
  });
  return { write: (line) => void destination.write(prettify(line) ?? "") };
}
