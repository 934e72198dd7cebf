import { Command } from "commander";
import { type KeyObject, keyDeleted, keyList, key as keySchema, SCOPES } from "../../openapi/resources/keys.ts";
import { ApiClient } from "./client/api-client.ts";
import { urlOption } from "./client/server-url.ts";
import { addKeyFlags, fieldsOf, type KeyFlags, secondsOf } from "./key-flags.ts";
import { columns } from "./text/columns.ts";
import { minuteOf } from "./text/minute.ts";

/** Environment and streams of the commands; those of the process fit. */
export interface KeysCommandDeps {
  env: Readonly<Record<string, string | undefined>>;
  stdout: { write(text: string): unknown };
  stderr: { write(text: string): unknown };
  /** Milliseconds since 1970. */
  now(): number;
}

/** Runs `nightshift keys` with the arguments after the name. Rejects with OptionsError for every failure. */
export async function keysCommand(args: readonly string[], deps: KeysCommandDeps): Promise<void> {
  await keysProgram(deps).parseAsync(args, { from: "user" });
}

/** Usage errors end the process, as commander does. */
export function keysProgram({ env, stdout, stderr, now }: KeysCommandDeps): Command {
  const program = new Command("nightshift keys")
    .description("API keys of a server: create, list, revoke, rotate, limits. Requires a key with the scope admin.")
    .addHelpText("after", "\nThe key is NIGHTSHIFT_ADMIN_KEY, else NIGHTSHIFT_API_KEY.")
    .showHelpAfterError("Run with --help for usage.");
  const admin = env.NIGHTSHIFT_ADMIN_KEY || env.NIGHTSHIFT_API_KEY;
  const client = ({ url }: { url?: string }) => new ApiClient(url, { ...env, NIGHTSHIFT_API_KEY: admin });
  const print = (line: string) => void stdout.write(`${line}\n`);
  const seconds = () => Math.floor(now() / 1000);
  const command = (name: string, description: string) =>
    program.command(name).description(description).addOption(urlOption()).option("--json", "print JSON");

  /** Only the secret goes to stdout, for scripts. */
  function printSecret(made: KeyObject, json: boolean | undefined): void {
    print(json ? JSON.stringify(made, null, 2) : (made.key ?? ""));
    if (!json) stderr.write(`${made.id} of ${made.owner}. The key above is shown only once.\n`);
  }

  addKeyFlags(command("create", "create a key and print it"))
    .requiredOption("--name <name>", "display name")
    .requiredOption("--owner <owner>", "owner of the key's files, batches and usage")
    .option("--scope <scope>", `permission: ${SCOPES.join(", ")}. Repeatable (default: all except admin)`, list)
    .action(async (flags: KeyFlags & { url?: string; json?: boolean }) => {
      const { name, owner, scope } = flags;
      const body = { name, owner, ...(scope !== undefined && { scopes: scope }), ...fieldsOf(flags, seconds()) };
      printSecret(await client(flags).call("POST", "nightshift/keys", keySchema, body), flags.json);
    });

  command("list", "list keys, newest first")
    .option("--owner <owner>", "only keys of this owner")
    .option("--limit <n>", "maximum number", "100")
    .option("--after <id>", "continue the list after this id")
    .action(async (flags) => {
      const query = new URLSearchParams({ limit: flags.limit });
      if (flags.owner !== undefined) query.set("owner", flags.owner);
      if (flags.after !== undefined) query.set("after", flags.after);
      const page = await client(flags).call("GET", `nightshift/keys?${query}`, keyList);
      if (flags.json) return print(JSON.stringify(page.data, null, 2));
      for (const line of keyTable(page.data, seconds())) print(line);
      if (page.has_more) stderr.write(`There are more: --after ${page.last_id}\n`);
    });

  command("revoke", "revoke keys permanently")
    .argument("<ids...>")
    .option("--cancel-batches", "also cancel batches that were created with these keys")
    .action(async (ids: string[], flags) => {
      const query = flags.cancelBatches ? "?cancel_batches=true" : "";
      for (const id of ids) {
        const deleted = await client(flags).call("DELETE", `${pathOf(id)}${query}`, keyDeleted);
        print(flags.json ? JSON.stringify(deleted) : `${id} revoked`);
      }
    });

  command("rotate", "give a key a new secret and print it")
    .argument("<id>")
    .option("--grace <duration>", "how long the previous secret remains valid, such as 1h", "0s")
    .action(async (id: string, flags) => {
      const body = { grace_seconds: secondsOf("--grace", flags.grace) };
      printSecret(await client(flags).call("POST", `${pathOf(id)}/rotate`, keySchema, body), flags.json);
    });

  addKeyFlags(command("limits", "print the limits of a key; flags change them first"))
    .argument("<id>")
    .action(async (id: string, flags: KeyFlags & { url?: string; json?: boolean }) => {
      const changes = fieldsOf(flags, seconds());
      const server = client(flags);
      const changed = Object.keys(changes).length > 0;
      const key = await (changed
        ? server.call("PATCH", pathOf(id), keySchema, changes)
        : server.call("GET", pathOf(id), keySchema));
      if (flags.json) return print(JSON.stringify(key, null, 2));
      for (const line of limitsTable(key)) print(line);
    });
  return program;
}

function list(value: string, earlier: string[] | undefined): string[] {
  return [...(earlier ?? []), value];
}

function pathOf(id: string): string {
  return `nightshift/keys/${encodeURIComponent(id)}`;
}

/** One line per key. `now`: Unix seconds. */
export function keyTable(keys: readonly KeyObject[], now: number): string[] {
  const head = ["id", "name", "owner", "begins with", "scopes", "state", "last used"];
  const rows = keys.map((key) => [
    key.id,
    key.name,
    key.owner,
    key.prefix,
    key.scopes.join(","),
    stateOf(key, now),
    key.last_used_at === null ? "never" : minuteOf(key.last_used_at),
  ]);
  return columns([head, ...rows], head.length);
}

function stateOf({ revoked_at, expires_at }: KeyObject, now: number): string {
  if (revoked_at !== null) return "revoked";
  if (expires_at === null) return "valid";
  return `${expires_at <= now ? "expired" : "until"} ${minuteOf(expires_at)}`;
}

function limitsTable(key: KeyObject): string[] {
  const { daily_usd, monthly_usd, soft_ratio } = key.budget;
  const rows = [
    ["models", key.models?.join(", ") ?? "all"],
    ["tiers", key.tiers.join(", ")],
    ["requests per minute", bound(key.requests_per_minute)],
    ["tokens per minute", bound(key.tokens_per_minute)],
    ["concurrent", bound(key.concurrent)],
    ["enqueued tokens", bound(key.enqueued_tokens)],
    ["storage bytes", bound(key.storage_bytes)],
    ["USD per day", bound(daily_usd)],
    ["USD per month", bound(monthly_usd)],
    ["warned from", soft_ratio === null ? "never" : `${bound(soft_ratio * 100)} %`],
    ["expires", key.expires_at === null ? "never" : minuteOf(key.expires_at)],
  ];
  return columns(rows, 2);
}

function bound(value: number | null): string {
  // The smallest amount is a billionth of a USD; rounded to fewer digits it would look like a budget of zero.
  return value === null ? "none" : value.toLocaleString("en-US", { maximumFractionDigits: 9 });
}
