import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { destination } from "../../webhooks/destination.ts";
import { Rig, receiver } from "./webhook-rig.ts";

const v4 = (address: string): LookupAddress => ({ address, family: 4 });
const resolveTo =
  (...addresses: LookupAddress[]) =>
  async () =>
    addresses;

describe("an event to a private address", () => {
  it.each([
    "https://127.0.0.1/",
    "https://169.254.169.254/latest/meta-data/",
    "https://[::1]/",
    "https://[::ffff:10.0.0.1]/",
    "https://2130706433/",
    "https://0177.0.0.1/",
    "https://0x7f000001/",
    "https://127.1/",
  ])("is blocked when the URL is %s", async (url) => {
    const rig = await Rig.start([new URL(url).href], { allowPrivate: false });
    await rig.queue();
    expect(await rig.receives(1)).toEqual(["failed batch.completed"]);
    expect((await rig.waiting())[0]?.lastError).toMatch(/^blocked: .* is not a public address$/);
  });

  it("is blocked before any byte is sent when a name resolves there", async () => {
    const { port, received } = await receiver((_, response) => response.writeHead(200).end());
    const url = `https://innocent.test:${port}/`;
    for (const answer of [[v4("127.0.0.1")], [v4("93.184.215.14"), v4("127.0.0.1")], [{ address: "::1", family: 6 }]]) {
      const rig = await Rig.start([url], { allowPrivate: false, resolve: resolveTo(...answer) });
      await rig.queue();
      await rig.receives(1);
      expect((await rig.waiting())[0]?.lastError).toMatch(/^blocked: innocent.test resolves to (127.0.0.1|::1),/);
    }
    expect(received).toEqual([]);
  });

  it("is blocked when the system's resolver resolves localhost", async () => {
    const rig = await Rig.start(["https://localhost/"], { allowPrivate: false });
    await rig.queue();
    await rig.receives(1);
    expect((await rig.waiting())[0]?.lastError).toMatch(/^blocked: localhost resolves to /);
  });

  it("is sent when private addresses are allowed", async () => {
    const { port, received } = await receiver((_, response) => response.writeHead(200).end());
    const url = `http://hooks.test:${port}/`;
    const rig = await Rig.start([url], { allowPrivate: true, resolve: resolveTo(v4("127.0.0.1")) });
    await rig.queue();
    expect(await rig.receives(1)).toEqual(["delivered batch.completed"]);
    expect(received[0]?.headers.host).toBe(`hooks.test:${port}`);
  });
});

describe("a name with changing addresses", () => {
  it("is resolved once, and the checked address is connected to", async () => {
    const checked = await receiver((_, response) => response.writeHead(200).end());
    let asked = 0;
    const resolve = async () => (++asked === 1 ? [v4("127.0.0.1")] : [v4("127.0.0.66")]);
    const rig = await Rig.start([`http://rebinding.test:${checked.port}/`], { resolve });
    await rig.queue();
    expect(await rig.receives(1)).toEqual(["delivered batch.completed"]);
    expect(asked).toBe(1);
    expect(checked.received).toHaveLength(1);
  });

  it("is checked at each attempt", async () => {
    const { url, received } = await receiver((_, response) => response.writeHead(200).end());
    const answers = [[], [v4("10.0.0.1")]];
    const { port } = new URL(url);
    const resolve = async () => answers.shift() ?? [v4("127.0.0.1")];
    const rig = await Rig.start([`https://rebinding.test:${port}/`], { allowPrivate: false, resolve });
    await rig.queue();
    await rig.receives(1);
    expect((await rig.waiting())[0]?.lastError).toBe("rebinding.test has no address");
    for (const blocked of ["10.0.0.1", "127.0.0.1"]) {
      rig.pass(3_600_000);
      await rig.receives(blocked === "10.0.0.1" ? 2 : 3);
      expect((await rig.waiting())[0]?.lastError).toContain(blocked);
    }
    expect(received).toEqual([]);
  });
});

describe("plain http", () => {
  it("is allowed for private addresses only", async () => {
    const url = new URL("http://hooks.test/");
    await expect(destination(url, true, resolveTo(v4("93.184.215.14")))).rejects.toThrow(/which requires https/);
    await expect(destination(url, true, resolveTo(v4("10.0.0.1"), v4("93.184.215.14")))).rejects.toThrow(
      /which requires https/,
    );
    await expect(destination(url, true, resolveTo(v4("10.0.0.1")))).resolves.toEqual([v4("10.0.0.1")]);
  });
});

it("TLS to the checked address has the URL's server name", async () => {
  let hello = Buffer.alloc(0);
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (data) => {
      hello = Buffer.concat([hello, data]);
      socket.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const rig = await Rig.start([`https://hooks.test:${port}/`], { resolve: resolveTo(v4("127.0.0.1")) });
  await rig.queue();
  await rig.receives(1);
  // A TLS handshake record, and the server_name extension of its ClientHello (RFC 6066: type 0, then lengths).
  expect(hello[0]).toBe(22);
  expect(hello.includes(Buffer.concat([Buffer.from([0, 0, 10]), Buffer.from("hooks.test")]))).toBe(true);
});
