import { setTimeout as wait } from "node:timers/promises";
import { Command } from "commander";
import { owner as ownerSchema } from "../../openapi/resources/owners.ts";
import { OptionsError } from "../../platform/options-error.ts";
import { ApiClient } from "./client/api-client.ts";
import { urlOption } from "./client/server-url.ts";

/** Where the commands write and read; the process' own fit. */
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

/** `nightshift owners`: its arguments are those behind the name. Rejects with OptionsError for what went wrong. */
export async function ownersCommand(args: readonly string[], deps: OwnersCommandDeps): Promise<void> {
  await ownersProgram(deps).parseAsync(args, { from: "user" });
}

/** Usage errors end the process as commander does it. */
export function ownersProgram({ env, stdout, stderr }: OwnersCommandDeps): Command {
  const program = new Command("nightshift owners")
    .description("Owners of keys, files and batches. Needs a key with the scope admin.")
    .addHelpText("after", "\nThe server is asked with NIGHTSHIFT_ADMIN_KEY, else NIGHTSHIFT_API_KEY.")
    .showHelpAfterError("Run with --help for what there is.");
  const admin = env.NIGHTSHIFT_ADMIN_KEY || env.NIGHTSHIFT_API_KEY;

  program
    .command("erase")
    .description("remove an owner's keys, batches, files, results, uploads and ledger rows for good; sums by hour stay")
    .argument("<owner>")
    .addOption(urlOption())
    .option("--yes", "do it: nothing brings them back but a backup")
    .option("--no-wait", "end once the request is stored; the erasure goes on by itself")
    .option("--json", "print JSON")
    .action(async (owner: string, flags: EraseFlags) => {
      if (flags.yes !== true) {
        throw new OptionsError(`This removes all that is stored of '${owner}', for good. Add --yes to do it.`);
      }
      const client = new ApiClient(flags.url, { ...env, NIGHTSHIFT_API_KEY: admin });
      const path = `nightshift/owners/${encodeURIComponent(owner)}`;
      let standing = await client.call("DELETE", path, ownerSchema);
      if (flags.wait && !flags.json) stderr.write("Its keys are revoked. Waiting for the rest …\n");
      while (flags.wait && standing.erasure !== null) {
        await wait(POLL_MS);
        standing = await client.call("GET", path, ownerSchema);
      }
      const state = standing.erasure === null ? "erased" : "is being erased";
      stdout.write(`${flags.json ? JSON.stringify(standing, null, 2) : `${owner} ${state}`}\n`);
    });
  return program;
}
