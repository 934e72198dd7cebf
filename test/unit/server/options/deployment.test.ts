import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { addFlags } from "../../../../server/options/flags.ts";
import { OPTIONS } from "../../../../server/options/table.ts";
import { unreadVariables } from "../../../../server/options/variables.ts";

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../../../../${path}`, import.meta.url)), "utf8");
const root = (path: string) => fileURLToPath(new URL(`../../../../${path}`, import.meta.url));
const manifest = JSON.parse(read("package.json")) as { bin: { nightshift: string }; engines: { node: string } };
const GRACE_SECONDS = OPTIONS.shutdownGrace.default;

/** Variables in a text that no code reads. */
function unread(names: readonly string[]): string[] {
  return unreadVariables(Object.fromEntries(names.map((name) => [name, "x"])));
}

const OURS = /NIGHTSHIFT_[A-Z_]+/g;

describe("the image", () => {
  const dockerfile = read("Dockerfile");
  /** Of the last stage, by instruction; continued lines are joined. */
  const instructions = dockerfile
    .split(/^FROM /m)
    .at(-1)!
    .replaceAll("\\\n", " ")
    .split("\n")
    .map((line) => /^([A-Z]+) +(.*)$/.exec(line))
    .filter((match) => match !== null)
    .map(([, name, rest]) => ({ name: name!, rest: rest! }));
  const only = (name: string) => instructions.filter((one) => one.name === name).map(({ rest }) => rest);

  test("does not run as root, and starts the package's command", () => {
    expect(only("USER")).toEqual(["node"]);
    expect(only("ENTRYPOINT")).toEqual(['["/usr/bin/tini", "--", "nightshift"]']);
    expect(dockerfile).toContain(`/opt/nightshift/${manifest.bin.nightshift} /usr/local/bin/nightshift`);
    const [least] = /\d+/.exec(manifest.engines.node)!;
    expect(Number(/^FROM node:(\d+)-/m.exec(dockerfile)![1])).toBeGreaterThanOrEqual(Number(least));
  });

  test("sets variables that are read", () => {
    expect(unread(dockerfile.match(OURS)!)).toEqual([]);
  });

  test("copies only files that the builder receives", () => {
    const ignored = read(".dockerignore").split("\n");
    for (const path of ["package.json", "package-lock.json", "scripts", "models", "LICENSE"]) {
      expect(existsSync(root(path))).toBe(true);
      expect(ignored).not.toContain(path);
    }
  });

  test("is healthy when /health answers 200, and not otherwise", async () => {
    const [, code] = /^HEALTHCHECK[^[]*(\[.*\])/m.exec(dockerfile.replaceAll("\\\n", " "))!;
    const [command, ...args] = JSON.parse(code!) as [string, ...string[]];
    expect(command).toBe("nightshift");
    let status = 200;
    const server = createServer((req, res) => res.writeHead(req.url === "/health" ? status : 404).end());
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const check = async () => {
      const child = spawn(process.execPath, [root(manifest.bin.nightshift), ...args], {
        env: { ...process.env, NIGHTSHIFT_PORT: String(port) },
      });
      return (await once(child, "exit"))[0] as number;
    };
    expect(await check()).toBe(0);
    status = 500;
    expect(await check()).toBe(1);
    await new Promise((closed) => server.close(closed));
    expect(await check()).toBe(1);
  });
});

describe("the compose file", () => {
  const file = parse(read("deploy/compose.yaml")) as {
    services: { nightshift: Record<string, unknown> & { environment: Record<string, string> } };
    volumes: Record<string, unknown>;
  };
  const { nightshift } = file.services;

  test("gives the server more time to end than its streams", () => {
    expect(Number.parseInt(String(nightshift.stop_grace_period), 10)).toBeGreaterThan(GRACE_SECONDS);
  });

  test("sets variables that are read, and mounts the data directory", () => {
    const ours = Object.keys(nightshift.environment).filter((name) => name.startsWith("NIGHTSHIFT_"));
    expect(unread(ours.filter((name) => name !== "NIGHTSHIFT_ADMIN_KEY"))).toEqual([]);
    expect(nightshift.volumes).toEqual(["data:/data"]);
    expect(Object.keys(file.volumes)).toEqual(["data"]);
    expect(read("Dockerfile")).toContain("NIGHTSHIFT_DATA_DIR=/data");
  });

  test("cannot reach the host, and is reachable only from the host", () => {
    expect(nightshift).toMatchObject({ read_only: true, cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] });
    expect(nightshift.ports).toEqual(["127.0.0.1:8080:8080"]);
  });
});

describe("the systemd unit", () => {
  const unit = read("deploy/systemd/nightshift.service");
  const value = (key: string) => new RegExp(`^${key}=(.*)$`, "m").exec(unit)?.[1];

  test("gives the server more time to end than its streams, and signals only the server", () => {
    expect(Number(value("TimeoutStopSec"))).toBeGreaterThan(GRACE_SECONDS);
    expect(value("KillMode")).toBe("mixed");
    expect(value("OOMPolicy")).toBe("continue");
  });

  test("starts and reloads by an existing command line", () => {
    const [, cli, ...args] = value("ExecStart")!.split(" ").slice(1);
    expect(cli).toBe(`/opt/nightshift/${manifest.bin.nightshift}`);
    const serve = addFlags(new Command()).argument("<command>").exitOverride().parse(args, { from: "user" });
    expect(serve.args).toEqual(["serve"]);
    expect(serve.opts()).toEqual({ config: "/etc/nightshift/nightshift.yaml", dataDir: "/var/lib/nightshift" });
    expect(value("ExecReload")).toBe("/bin/kill -HUP $MAINPID");
  });
});
