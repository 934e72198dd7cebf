import { once } from "node:events";
import pino, { type Logger } from "pino";

export interface LogSettings {
  level: string;
  /** auto is pretty on a terminal, else JSON. */
  format: "auto" | "json" | "pretty";
  /** File descriptor of the output; stderr by default. */
  descriptor?: number;
}

export interface ServerLog {
  logger: Logger;
  /** Resolves when all lines are written; lines that are not read within a second are dropped. */
  flush(): Promise<void>;
  /** Drops lines that are not read, before the exit: Node would wait for them without end. */
  release(): void;
  /** Lines that were dropped because they were not read in time. */
  dropped(): number;
}

const STDERR = 2;

/**
 * Bytes of unread lines above which new lines are dropped. Lines are written asynchronously, so that a reader that stops
 * reading delays no token stream.
 */
const UNREAD_LIMIT = 4 * 1024 * 1024;
/** Milliseconds without a read after which the reader is taken to have stopped. */
const READ_TIMEOUT_MS = 1000;

/** Logs go to stderr, because stdout has the output of commands. */
export async function openLog(settings: LogSettings): Promise<ServerLog> {
  const destination = pino.destination({ dest: settings.descriptor ?? STDERR, sync: false, maxLength: UNREAD_LIMIT });
  let dropped = 0;
  let released = false;
  /** Time since which lines wait to be written; null while none does. */
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
  // Without a listener a closed stderr would end the process. A closed pipe has no reader again.
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
    await once(destination, "drain", { signal: AbortSignal.timeout(READ_TIMEOUT_MS) }).catch(giveUp);
  };
  const release = () => {
    if (waitingSince !== null && performance.now() - waitingSince >= READ_TIMEOUT_MS) giveUp();
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
