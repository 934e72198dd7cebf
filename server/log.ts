import pino, { type Logger } from "pino";

export interface LogSettings {
  level: string;
  /** auto is pretty on a terminal, else JSON. */
  format: "auto" | "json" | "pretty";
}

export interface ServerLog {
  logger: Logger;
  /** Resolves when all lines are written, or after a second when nobody reads them. */
  flush(): Promise<void>;
  /** Lines that nobody read in time, and that were dropped. */
  dropped(): number;
}

const STDERR = 2;

/**
 * A reader that stands still must not hold up token streams: lines are written asynchronously, and from 4 MB of unread
 * ones on new lines are dropped.
 */
const UNREAD_LIMIT = 4 * 1024 * 1024;

/** Logs go to stderr, so that stdout carries only what was asked for. */
export async function openLog(settings: LogSettings): Promise<ServerLog> {
  const destination = pino.destination({ dest: STDERR, sync: false, maxLength: UNREAD_LIMIT });
  let dropped = 0;
  destination.on("drop", () => {
    dropped++;
  });
  // Without a listener a closed stderr (EPIPE) would end the process.
  destination.on("error", () => {});
  const pretty = settings.format === "pretty" || (settings.format === "auto" && process.stderr.isTTY === true);
  const base = { level: settings.level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  const logger = pino(base, pretty ? await prettyLines(destination) : destination);
  const flush = () =>
    new Promise<void>((resolve) => {
      const enough = setTimeout(resolve, 1000);
      destination.flush(() => {
        clearTimeout(enough);
        resolve();
      });
    });
  return { logger, flush, dropped: () => dropped };
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
