import { setTimeout as wait } from "node:timers/promises";
import { Command } from "commander";
import { owner as ownerSchema } from "../../openapi/resources/owners.ts";
import { OptionsError } from "../../platform/options-error.ts";
import { ApiClient } from "./client/api-client.ts";
import { urlOption } from "./client/server-url.ts";

/** Environment and streams of the commands; those of the process fit. */
export interface OwnersCommandDeps {
  env: Readonly<Record<string, string | undefined>>;
  stdout: { write(text: string): unknown };
  stderr: { write(text: string): unknown };
}

interface EraseFlags {
  url?: string;
  yes?: boolean;
  wait: boolean;
  json?: boolean;
}

const POLL_MS = 500;

/** Runs `nightshift owners` with the arguments after the name. Rejects with OptionsError for every failure. */
export async function ownersCommand(args: readonly string[], deps: OwnersCommandDeps): Promise<void> {
  await ownersProgram(deps).parseAsync(args, { from: "user" });
}

/** Usage errors end the process, as commander does. */
export function ownersProgram({ env, stdout, stderr }: OwnersCommandDeps): Command {
  const program = new Command("nightshift owners")
    .description("Owners of keys, files and batches. Requires a key with the scope admin.")
    .addHelpText("after", "\nThe key is NIGHTSHIFT_ADMIN_KEY, else NIGHTSHIFT_API_KEY.")
    .showHelpAfterError("Run with --help for usage.");
  const admin = env.NIGHTSHIFT_ADMIN_KEY || env.NIGHTSHIFT_API_KEY;

  program
    .command("erase")
    .description(
      "permanently remove an owner's keys, batches, files, results, uploads, stored answers and ledger rows; hourly sums are kept",
    )
    .argument("<owner>")
    .addOption(urlOption())
    .option("--yes", "confirm: only a backup can restore the data")
    .option("--no-wait", "exit when the request is stored; the erasure continues on the server")
    .option("--json", "print JSON")
    .action(async (owner: string, flags: EraseFlags) => {
      if (flags.yes !== true) {
        throw new OptionsError(`This permanently removes all stored data of '${owner}'. Confirm with --yes.`);
      }
      const client = new ApiClient(flags.url, { ...env, NIGHTSHIFT_API_KEY: admin });
      const path = `nightshift/owners/${encodeURIComponent(owner)}`;
      let status = await client.call("DELETE", path, ownerSchema);
      if (flags.wait && !flags.json) stderr.write("The keys are revoked. Waiting for the erasure …\n");
      while (flags.wait && status.erasure !== null) {
        await wait(POLL_MS);
        status = await client.call("GET", path, ownerSchema);
      }
      const state = status.erasure === null ? "erased" : "is being erased";
      stdout.write(`${flags.json ? JSON.stringify(status, null, 2) : `${owner} ${state}`}\n`);
    });
  return program;
}
