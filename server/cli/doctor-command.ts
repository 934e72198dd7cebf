import { examine } from "../doctor/doctor.ts";
import { reportText } from "../doctor/report.ts";
import { openLog } from "../lifecycle/log-output.ts";
import { readOptions } from "../options/read.ts";

/** Exits with 1 if a check fails. */
export async function doctorCommand(flags: Record<string, unknown>): Promise<void> {
  const options = await readOptions(flags, process.env, process.cwd());
  const { logger, flush } = await openLog({ level: options.logLevel, format: options.logFormat });
  const report = await examine(options, logger);
  process.stdout.write(flags.json === true ? `${JSON.stringify(report, null, 2)}\n` : reportText(report));
  if (!report.ok) process.exitCode = 1;
  await flush();
}
