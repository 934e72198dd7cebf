import { mkdtempSync, rmSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { programUrl } from "../../platform/installation.ts";
import { Random } from "../base/random.ts";
import { accountOf } from "../batch/batch-account.ts";
import { type BatchObject, createBatch, isOver, retrieveBatch } from "../batch/batch-job.ts";
import { type BatchAccount, type Books, disagreements, growth, type OnlineAccount, readBooks } from "../batch/books.ts";
import { call, json } from "../target/call.ts";
import { freePort } from "../target/child-server.ts";
import { total } from "../target/counters.ts";
import { type Resident, residentMemory } from "../target/memory.ts";
import { connect, type Target } from "../target/target.ts";
import { ChaosServer, type ProcessCounts } from "./chaos-server.ts";
import { ChaosClients, pause } from "./clients.ts";
import {
  BREAKAGES,
  batchBodies,
  type ChaosContext,
  chatBody,
  DISTURBANCES,
  type Disturbance,
  draw,
} from "./disturbances.ts";
import { FaultyHub } from "./faulty-hub.ts";

export interface ChaosPlan {
  seconds: number;
  /** Concurrent online clients. */
  clients: number;
  /** Lines of each batch. */
  lines: number;
  seed: number;
  gguf: string;
  serverArgs: string[];
}

export interface ChaosResult {
  online: OnlineAccount;
  batches: BatchAccount[];
  /** Number of each disturbance. */
  disturbances: Record<string, number>;
  refused: Record<string, number>;
  lives: ProcessCounts;
  books: Books;
  memory: Resident[];
  openFiles: { first: number; last: number };
  hubAsked: number;
  /** Violated invariants; empty when all hold. */
  wrong: string[];
}

const CLI = fileURLToPath(programUrl("server/cli"));
const QUESTION = { messages: [{ role: "user", content: "What is 7 + 8?" }], temperature: 0, max_tokens: 16 };
const BREAK_EVERY_MS = { least: 60_000, most: 120_000 };
const CALM_MS = 5000;
const SETTLES_WITHIN_MS = 600_000;
const POLL_MS = 200;
/** Open files that the server may have at the end beyond those at its start: kept-alive connections. */
const MORE_FILES = 64;
const MOST_MIB = 1024;
/** Failed requests of the model's download before one succeeds. */
const HUB_FAILURES = 8;
const ENGINE_TIMEOUT_SECONDS = 10;

/**
 * Runs a server under hostile clients, random cancels, models on demand, a failing model host, kills, hangs, reloads
 * and backups, all drawn from one seed. Once it is idle, checks the invariants: the books agree, nothing runs, no
 * engine and no server ended unexpectedly, open files and memory are bounded, the database is intact, and a fixed
 * prompt has the same answer as before.
 */
export async function chaos(plan: ChaosPlan, say: (text: string) => void): Promise<ChaosResult> {
  const dataDir = mkdtempSync(join(tmpdir(), "nightshift-chaos-"));
  const scratch = mkdtempSync(join(tmpdir(), "nightshift-chaos-scratch-"));
  const hub = new FaultyHub(plan.gguf, HUB_FAILURES);
  const models = [`bench=${plan.gguf}`, `lazy=${plan.gguf}`, `remote=${await hub.listen()}`];
  const port = await freePort();
  const options = ["--port", String(port), "--data-dir", dataDir, "--log-format", "json", "--keep-alive", "15s"];
  const bounds = ["--engine-timeout", String(ENGINE_TIMEOUT_SECONDS), "--prices", "bench=0.10/0.02/0.40"];
  const named = models.flatMap((model) => ["--model", model]);
  const server = new ChaosServer(port, [
    process.execPath,
    CLI,
    "serve",
    ...options,
    ...bounds,
    ...named,
    ...plan.serverArgs,
  ]);
  try {
    await server.start();
    const target = await connect("nightshift", server.base, "bench", false);
    const clients = new ChaosClients(server);
    const cli = [process.execPath, CLI];
    const random = new Random(plan.seed);
    const context: ChaosContext = { server, clients, target, random, dataDir, scratch, cli, lines: plan.lines };
    return await run(plan, context, hub, say);
  } finally {
    hub.close();
    await server.end("SIGKILL");
    for (const folder of [dataDir, scratch]) rmSync(folder, { recursive: true, force: true });
  }
}

async function run(
  plan: ChaosPlan,
  context: ChaosContext,
  hub: FaultyHub,
  say: (text: string) => void,
): Promise<ChaosResult> {
  const { server, clients, target, dataDir } = context;
  const expected = await answerOf(target);
  const before = await readBooks(target);
  const until = performance.now() + plan.seconds * 1000;
  const going = () => performance.now() < until;
  const count: Record<string, number> = {};
  const wrong: string[] = [];
  let files = { pid: server.pid, first: server.openFiles() };

  const disturb = async ({ name, run: act }: Disturbance, random: Random) => {
    count[name] = (count[name] ?? 0) + 1;
    const began = performance.now();
    await act({ ...context, random }).catch((error: unknown) => {
      // A disturbance may fail during a breakage; its effects are checked at the end.
      if (!server.brokenAt.some((at) => at >= began - CALM_MS)) wrong.push(`${name}: ${reasonOf(error)}`);
    });
  };
  const client = async (stream: number) => {
    const random = new Random(plan.seed, stream);
    while (going()) {
      await clients.ask("chat/completions", streamed(random));
      await pause(random);
    }
  };
  const leaver = async () => {
    const random = new Random(plan.seed, 1000);
    for (; going(); await pause(random))
      await clients.ask("chat/completions", streamed(random), random.integer(1, 400));
  };
  const batcher = async () => {
    const random = new Random(plan.seed, 2000);
    for (; going(); await wait(1000)) {
      const id = await createBatch(target, batchBodies(random, plan.lines)).catch(() => null);
      while (id !== null && going() && !(await retrieveBatch(target, id).then(isOver, () => false)))
        await wait(POLL_MS);
    }
  };
  const disturber = async (stream: number) => {
    const random = new Random(plan.seed, stream);
    for (; going(); await wait(random.integer(100, 3000))) await disturb(draw(DISTURBANCES, random), random);
  };
  const breaker = async () => {
    const random = new Random(plan.seed, 4000);
    for (;;) {
      await wait(Math.min(random.integer(BREAK_EVERY_MS.least, BREAK_EVERY_MS.most), until - performance.now() + 1));
      if (!going()) return;
      const breakage = draw(BREAKAGES, random);
      say(`${breakage.name}; ${clients.account.answered} answered so far`);
      count[breakage.name] = (count[breakage.name] ?? 0) + 1;
      // A server that does not restart ends the run.
      await breakage.run({ ...context, random });
      if (server.pid !== files.pid) files = { pid: server.pid, first: server.openFiles() };
    }
  };
  const online = Array.from({ length: plan.clients }, (_, i) => client(i + 1));
  await Promise.all([...online, leaver(), batcher(), disturber(3000), disturber(3001), breaker()]);

  say("calming down");
  await settled(target);
  const batches = await allBatches(target);
  wrong.push(...clients.failures, ...server.lives.serverEndsUnasked);
  const { enginesDied, enginesAsked } = server.lives;
  if (enginesDied > enginesAsked) wrong.push(`${enginesDied} engines died, and ${enginesAsked} were to`);
  const answer = await answerOf(target);
  if (answer !== expected) wrong.push(`"${expected}" was answered before, and "${answer}" after`);
  clients.account.answered++;
  await wait(CALM_MS);
  const openFiles = { first: files.first, last: server.openFiles() };
  if (openFiles.last > openFiles.first + MORE_FILES)
    wrong.push(`open files grew from ${openFiles.first} to ${openFiles.last}`);
  const memory = await residentMemory(server.pid);
  for (const { name, mib } of memory) if (mib > MOST_MIB) wrong.push(`${name} has ${Math.round(mib)} MiB`);
  const books = growth(before, await readBooks(target));
  const { account, refused, unbooked } = clients;
  wrong.push(...disagreements({ online: account, batches, books, unbooked }));
  await server.end("SIGTERM");
  wrong.push(...databaseFaults(dataDir), ...(await leftovers(dataDir)));
  const result = { online: account, batches, disturbances: count, refused: Object.fromEntries(refused) };
  return { ...result, lives: server.lives, books, memory, openFiles, hubAsked: hub.asked, wrong };
}

/** fetch has the reason only in the error's cause. */
function reasonOf(error: unknown): string {
  return error instanceof Error && error.cause ? `${String(error)} (${String(error.cause)})` : String(error);
}

function streamed(random: Random) {
  return { ...chatBody(random), stream: true, stream_options: { include_usage: true } };
}

async function answerOf(target: Target): Promise<string> {
  const body = json({ model: target.model, ...QUESTION });
  const answer = await call<{ choices: { message: { content: string } }[] }>(target, "chat/completions", body);
  return answer.choices[0]!.message.content;
}

/** Resolves when the server has no request and every batch is terminal. */
async function settled(target: Target): Promise<void> {
  const deadline = performance.now() + SETTLES_WITHIN_MS;
  for (;;) {
    const metrics = await (await fetch(new URL("/metrics", target.base))).text();
    const requests = total(metrics, "nightshift_requests_running") + total(metrics, "nightshift_requests_waiting");
    const open = (await batchObjects(target)).filter((batch) => !isOver(batch));
    if (requests === 0 && open.length === 0) return;
    if (performance.now() > deadline)
      throw new Error(`${requests} requests and ${open.length} batches are left: ${JSON.stringify(open[0])}`);
    await wait(POLL_MS);
  }
}

async function batchObjects(target: Target): Promise<BatchObject[]> {
  const batches: BatchObject[] = [];
  for (let after = ""; ; ) {
    const path = `batches?limit=100${after && `&after=${after}`}`;
    const page = await call<{ data: BatchObject[]; has_more: boolean; last_id: string }>(target, path, {});
    batches.push(...page.data);
    if (!page.has_more) return batches;
    after = page.last_id;
  }
}

async function allBatches(target: Target): Promise<BatchAccount[]> {
  const accounts: BatchAccount[] = [];
  for (const batch of await batchObjects(target))
    accounts.push(await accountOf(target, batch, batch.request_counts.total));
  return accounts;
}

function databaseFaults(dataDir: string): string[] {
  const database = new Database(join(dataDir, "nightshift.db"), { readonly: true });
  try {
    const integrity = database.pragma("integrity_check", { simple: true });
    const references = database.pragma("foreign_key_check") as unknown[];
    return [
      ...(integrity === "ok" ? [] : [`integrity_check: ${String(integrity)}`]),
      ...(references.length === 0 ? [] : [`foreign_key_check: ${references.length} rows`]),
    ];
  } finally {
    database.close();
  }
}

/** Temporary files that are left over. */
async function leftovers(dataDir: string): Promise<string[]> {
  const names = await readdir(join(dataDir, "tmp")).catch(() => []);
  return names.map((name) => `left behind: tmp/${name}`);
}
