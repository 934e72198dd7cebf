/**
 * Speaks the engine's protocol without a model. Its faults are chosen by the configured path (while it loads) and by each
 * request's prompt text. It writes every message and action to stderr, a line each.
 */
import { existsSync, writeFileSync } from "node:fs";

const [, , ...unused] = process.argv;
if (unused.length > 0) throw new Error("The fake engine takes no arguments");

let silent = false;
/** True while a step hangs, which delays all later messages for ever. */
let hung = false;
let asked = 0;
const live = new Map();

function send(message) {
  if (!silent) process.send(message);
}

function say(line) {
  process.stderr.write(`${line}\n`);
}

/** True at the first call for a file, over all processes. */
function firstTime(file) {
  if (existsSync(file)) return false;
  writeFileSync(file, "");
  return true;
}

function load(config) {
  const [how, rest] = split(config.path);
  if (how === "hang-loading") return;
  if (how === "unloadable") {
    send({ type: "failed", message: rest });
    process.exit(1);
  }
  if (how === "unloadable-first" && firstTime(rest)) {
    send({ type: "failed", message: "No memory for the weights." });
    process.exit(1);
  }
  if (how === "unloadable-later" && !firstTime(rest)) {
    send({ type: "failed", message: "No memory for the weights." });
    process.exit(1);
  }
  if (how === "die-loading" || (how === "die-loading-once" && firstTime(rest))) {
    say("the last words of the engine");
    process.exit(7);
  }
  if (how === "stubborn") process.on("disconnect", () => say("not I"));
  else process.on("disconnect", () => process.exit(0));
  send({ type: "loading", progress: 0.5 });
  send({ type: "ready", facts: { model: config.model, fingerprint: String(process.pid) }, warnings: ["a fake"] });
}

function split(text) {
  const at = text.indexOf(":");
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

const NOTHING = { waiting: 0, running: 0, prefill: 0 };
const BACKLOG = {
  tiers: { priority: NOTHING, default: NOTHING, flex: NOTHING, batch: NOTHING },
  flexPlaces: 1,
  kvPerDecode: 0,
  fit: null,
};

function step(started, outputs) {
  send({ type: "step", backlog: BACKLOG, started, outputs, stats: { batchSize: outputs.length, shares: [] } });
}

function submit(request) {
  const { id, n, prompt } = request;
  const [what, rest] = split(prompt.text);
  say(`submit ${id} ${what}`);
  if (what === "refuse") {
    const error = { code: "invalid_value", param: "prompt", message: "Refused." };
    send({ type: "refused", id, error });
    return;
  }
  if (what === "silent") {
    silent = true;
    return;
  }
  send({ type: "accepted", id, promptTokens: 3, promptText: null });
  if (what === "crash") process.abort();
  if (what === "crash-once" && firstTime(rest)) process.exit(9);
  const indexes = Array.from({ length: n }, (_, index) => index);
  let started = indexes.map((index) => ({ id, index, cachedTokens: 0 }));
  const total = what === "count" || what === "count-and-crash" ? Number(rest) : what === "drip" ? Infinity : 1;
  if (what === "hang") hung = true;
  if (what === "hold" || what === "hang") return;
  let made = 0;
  const timer = setInterval(() => {
    made += 1;
    const finish = made < total ? null : { reason: "length", completionTokens: total, reasoningTokens: 0 };
    step(
      started,
      indexes.map((index) => ({ id, index, text: `${made} `, reasoning: "", tokens: 1, finish })),
    );
    started = [];
    if (what === "count-and-crash" && made === 1) process.kill(process.pid, "SIGKILL");
    if (finish !== null) clearInterval(timer);
  }, 2);
  live.set(id, timer);
}

/** The vector of each input begins with the input's index. */
function embed({ id, inputs }) {
  const [what, rest] = split(inputs[0].text);
  say(`embed ${id} ${what}`);
  send({ type: "accepted", id, promptTokens: inputs.length, promptText: null });
  if (what === "crash-once" && firstTime(rest)) process.exit(9);
  const vectors = inputs.map((_, index) => ({ id, index, vector: Float32Array.of(index, 1) }));
  const stats = { ms: 1, online: true, inputs: inputs.length, tokens: inputs.length, shares: [] };
  for (const [i, vector] of vectors.entries())
    send({ type: "piece", started: i === 0 ? [id] : [], vectors: [vector], stats });
}

process.on("message", (message) => {
  if (message.type === "start") load(message.config);
  else if (message.type === "submit") submit(message.request);
  else if (message.type === "embed") embed(message.request);
  // Also while it sends nothing else, as a real engine whose step hangs.
  else if (message.type === "inspect") process.send({ type: "status", status: { asked: ++asked } });
  else {
    clearInterval(live.get(message.id));
    say(`cancel ${message.id}`);
    if (!hung) send({ type: "cancelled", id: message.id });
  }
});
