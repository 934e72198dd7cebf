import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Random } from "../base/random.ts";
import { createBatch } from "../batch/batch-job.ts";
import { call, json } from "../target/call.ts";
import type { Target } from "../target/target.ts";
import type { ChaosServer } from "./chaos-server.ts";
import type { ChaosClients } from "./clients.ts";
import { hostileRequest } from "./hostile.ts";

/** The objects that a disturbance acts on. */
export interface ChaosContext {
  server: ChaosServer;
  clients: ChaosClients;
  target: Target;
  random: Random;
  dataDir: string;
  /** A folder for backups and their restores. */
  scratch: string;
  /** The command line of this project. */
  cli: readonly string[];
  /** Lines of a batch. */
  lines: number;
}

export interface Disturbance {
  name: string;
  /** Relative frequency, a whole number. */
  weight: number;
  run: (context: ChaosContext) => Promise<void>;
}

export const chatBody = (random: Random, model = "bench") => ({
  model,
  messages: [{ role: "user", content: `Count from ${random.integer(1, 9)} to ${random.integer(10, 60)}.` }],
  max_tokens: random.integer(2, 64),
  ignore_eos: true,
});

/** Actions of clients and operators while the server keeps running. */
export const DISTURBANCES: readonly Disturbance[] = [
  {
    name: "hostile requests",
    weight: 6,
    run: async ({ clients, random }) => {
      const requests = Array.from({ length: random.integer(1, 4) }, () => hostileRequest(random));
      await Promise.all(requests.map(({ path, body, headers }) => clients.send(path, body, headers)));
    },
  },
  {
    name: "three long texts to tokenize",
    weight: 1,
    run: async ({ clients }) => {
      const body = JSON.stringify({ model: "bench", prompt: "ab ".repeat(2_700_000) });
      await Promise.all([1, 2, 3].map(() => clients.send("tokenize", body)));
    },
  },
  {
    name: "flex requests that leave",
    weight: 4,
    run: async ({ clients, random }) => {
      const requests = Array.from({ length: random.integer(1, 12) }, () => ({
        ...chatBody(random),
        service_tier: "flex",
      }));
      await Promise.all(requests.map((body) => clients.ask("chat/completions", body, random.integer(1, 600))));
    },
  },
  {
    name: "batches cancelled in validation",
    weight: 4,
    run: async ({ target, random, lines }) => {
      for (let i = random.integer(1, 5); i > 0; i--) {
        const id = await createBatch(target, batchBodies(random, random.integer(1, lines)));
        await wait(random.integer(0, 260));
        await cancelBatch(target, id);
      }
    },
  },
  {
    name: "a batch cancelled in progress",
    weight: 2,
    run: async ({ target, random, lines }) => {
      const id = await createBatch(target, batchBodies(random, lines));
      await wait(random.integer(500, 5000));
      await cancelBatch(target, id);
    },
  },
  {
    name: "a model on demand",
    weight: 3,
    run: async ({ clients, random }) => clients.ask("chat/completions", chatBody(random, "lazy")),
  },
  {
    name: "the model of a faulty hub",
    weight: 2,
    run: async ({ clients, random }) => clients.send("chat/completions", JSON.stringify(chatBody(random, "remote"))),
  },
  {
    name: "SIGHUP",
    weight: 2,
    run: async ({ server }) => server.reload(),
  },
  {
    name: "files that are removed while they are listed",
    weight: 2,
    run: async ({ target }) => {
      const { data } = await call<{ data: { id: string }[] }>(target, "files?limit=50&purpose=user_data", {});
      for (const { id } of data.slice(0, 10)) await fetch(new URL(`files/${id}`, target.base), { method: "DELETE" });
      for (let i = 0; i < 3; i++) await uploadFile(target, "x".repeat(1000 * (i + 1)));
    },
  },
  {
    name: "a usage report",
    weight: 2,
    run: async ({ target }) => {
      const start = Math.floor(Date.now() / 1000) - 86_400;
      await call(target, `organization/usage/completions?start_time=${start}&bucket_width=1h&group_by=model`, {});
    },
  },
  {
    name: "a backup, restored elsewhere",
    weight: 1,
    run: async ({ cli, dataDir, scratch }) => {
      const folder = await mkdtemp(join(scratch, "backup-"));
      try {
        await command([...cli, "backup", join(folder, "backup"), "--data-dir", dataDir]);
        await command([...cli, "restore", join(folder, "backup"), "--data-dir", join(folder, "restored")]);
      } finally {
        await rm(folder, { recursive: true });
      }
    },
  },
];

/** Failures that break requests in flight. They are rare, so that most failures in a run count. */
export const BREAKAGES: readonly Disturbance[] = [
  {
    name: "an engine is killed",
    weight: 3,
    run: async ({ server }) => {
      for (const pid of await enginesOf(server.pid)) {
        server.lives.enginesAsked++;
        server.breaks();
        process.kill(pid, "SIGKILL");
      }
    },
  },
  {
    name: "an engine hangs",
    weight: 1,
    run: async ({ server, random, clients }) => {
      for (const pid of await enginesOf(server.pid)) {
        server.lives.enginesAsked++;
        process.kill(pid, "SIGSTOP");
      }
      // The watchdog ends it while requests are open; failures until then are expected.
      server.breaks();
      await clients.ask("chat/completions", chatBody(random));
      server.breaks();
    },
  },
  {
    name: "the server is killed",
    weight: 2,
    run: async ({ server }) => {
      await server.end("SIGKILL");
      await server.start();
      server.breaks();
    },
  },
  {
    name: "the server is restarted",
    weight: 1,
    run: async ({ server }) => {
      await server.end("SIGTERM");
      await server.start();
      server.breaks();
    },
  },
];

/** Draws one by weight. */
export function draw(disturbances: readonly Disturbance[], random: Random): Disturbance {
  const lots = disturbances.flatMap((disturbance) => Array.from({ length: disturbance.weight }, () => disturbance));
  return lots[random.integer(0, lots.length - 1)]!;
}

export function batchBodies(random: Random, lines: number) {
  return Array.from({ length: lines }, () => ({ path: "chat/completions" as const, ...chatBody(random) }));
}

async function cancelBatch(target: Target, id: string): Promise<void> {
  // A terminal batch answers 409.
  await call(target, `batches/${id}/cancel`, json({})).catch(() => {});
}

async function uploadFile(target: Target, text: string): Promise<void> {
  const form = new FormData();
  form.set("purpose", "user_data");
  form.set("file", new Blob([text]), "chaos.txt");
  await call(target, "files", { method: "POST", body: form });
}

async function command([program, ...args]: string[]): Promise<void> {
  const child = spawn(program!, args, { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (said = (said + text).slice(-600)));
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`${args[1]} ended with ${code}: ${said}`);
}

/** The engine processes among the server's children. Linux only. */
async function enginesOf(pid: number): Promise<number[]> {
  const tasks = await readdir(`/proc/${pid}/task`);
  const children = tasks.flatMap((task) => read(`/proc/${pid}/task/${task}/children`).split(" ").filter(Boolean));
  return children.map(Number).filter((child) => read(`/proc/${child}/cmdline`).includes("engine/worker/main"));
}

/** Empty for a process that has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
