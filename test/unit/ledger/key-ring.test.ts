import { expect, onTestFinished, test } from "vitest";
import { ENVIRONMENT_KEY } from "../../../ledger/key.ts";
import { KeyRing, NO_TERMS } from "../../../ledger/key-ring.ts";
import type { KeyRow } from "../../../store/types/key-row.ts";
import { testStore } from "../store/test-store.ts";

const TERMS = { ...NO_TERMS, name: "test", scopes: '["inference"]' };

async function ring(adminKey: string | null = null) {
  const store = await testStore();
  const clock = { now: 1000 };
  const keys = new KeyRing({ store, adminKey, log: { error() {} }, now: () => clock.now });
  onTestFinished(() => keys.close());
  return { keys, store, clock };
}

test("a secret authenticates its key, and any changed character fails", async () => {
  const { keys } = await ring();
  const { row, secret } = await keys.create("a", TERMS);
  expect(secret).toMatch(/^ns_[0-9a-f]{16}_[A-Za-z0-9_-]{43}$/);
  expect(await keys.authenticate(secret)).toMatchObject({ id: row.id, owner: "a", scopes: ["inference"] });
  for (let place = 0; place < secret.length; place++) {
    const other = secret[place] === "0" ? "1" : "0";
    expect(await keys.authenticate(secret.slice(0, place) + other + secret.slice(place + 1))).toBeNull();
  }
  expect(JSON.stringify(row)).not.toContain(secret.slice(20));
});

test("the environment's key has every right and no row", async () => {
  const { keys, store } = await ring("the environment's own key");
  expect(await keys.authenticate("the environment's own key")).toBe(ENVIRONMENT_KEY);
  expect(await keys.authenticate("the environment's own kez")).toBeNull();
  expect(await keys.createFirst()).toBeNull();
  expect(await store.keys.list({ owner: null, limit: 10, after: null })).toEqual({ rows: [], hasMore: false });
});

test("a first administrator's key is created only while no valid one exists", async () => {
  const { keys, clock } = await ring();
  const first = await keys.createFirst();
  expect(await keys.authenticate(first?.secret ?? "")).toMatchObject({
    scopes: ["admin"],
    tiers: ENVIRONMENT_KEY.tiers,
  });
  expect(await keys.createFirst()).toBeNull();
  await keys.update(first?.row.id ?? "", { expiresAt: 2000 });
  expect(await keys.createFirst()).toBeNull();
  clock.now = 2000;
  const second = await keys.createFirst();
  expect(second).not.toBeNull();
  await keys.revoke(second?.row.id ?? "");
  expect(await keys.createFirst()).not.toBeNull();
});

test("a cached key expires at its time", async () => {
  const { keys, clock } = await ring();
  const { secret } = await keys.create("a", { ...TERMS, expiresAt: 1010 });
  clock.now = 1009;
  expect(await keys.authenticate(secret)).not.toBeNull();
  clock.now = 1010;
  expect(await keys.authenticate(secret)).toBeNull();
});

test("rotation keeps the old secret for its grace only; revocation ends all secrets", async () => {
  const { keys, clock } = await ring();
  const { row, secret: first } = await keys.create("a", TERMS);
  const rotate = async (graceSeconds: number) => {
    const made = await keys.rotate(row.id, graceSeconds);
    if (made === null || made === "revoked") throw new Error("the key cannot be rotated");
    return made.secret;
  };
  expect(await keys.authenticate(first)).not.toBeNull();
  const second = await rotate(0);
  expect(await keys.authenticate(first)).toBeNull();
  const third = await rotate(60);
  expect(await keys.authenticate(second)).toMatchObject({ id: row.id });
  expect(await keys.authenticate(third)).toMatchObject({ id: row.id });
  clock.now += 60;
  expect(await keys.authenticate(second)).toBeNull();
  const fourth = await rotate(60);
  await keys.revoke(row.id);
  for (const secret of [third, fourth]) expect(await keys.authenticate(secret)).toBeNull();
  expect(await keys.rotate(row.id, 0)).toBe("revoked");
  expect(await keys.update(row.id, { name: "again" })).toBe("revoked");
  expect(await keys.rotate("key_none", 0)).toBeNull();
});

test("a change applies from the next request on and evicts rows read during it", async () => {
  const { keys, store } = await ring();
  const { row, secret } = await keys.create("a", TERMS);
  const { find } = store.keys;
  let reading: (row: KeyRow | null) => void = () => {};
  const read = await find({ prefix: row.prefix });
  store.keys.find = () => new Promise((resolve) => (reading = resolve));
  const before = keys.authenticate(secret);
  await keys.revoke(row.id);
  reading(read);
  await before;
  store.keys.find = find;
  expect(await keys.authenticate(secret)).toBeNull();
});

test("the time of last use is stored at close", async () => {
  const { keys, store, clock } = await ring();
  const { row, secret } = await keys.create("a", TERMS);
  clock.now = 1234;
  await keys.authenticate(secret);
  expect(await store.keys.get({ id: row.id })).toMatchObject({ lastUsedAt: null });
  expect(await keys.get(row.id)).toMatchObject({ lastUsedAt: 1234 });
  expect(await keys.list({ owner: "a", limit: 1, after: null })).toMatchObject({ rows: [{ lastUsedAt: 1234 }] });
  await keys.close();
  expect(await store.keys.get({ id: row.id })).toMatchObject({ lastUsedAt: 1234 });
});
