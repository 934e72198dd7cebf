import { expect, it } from "vitest";
import { networkOf, WrongKeyLimiter } from "../../../../server/auth/wrong-key-limiter.ts";

function limiter() {
  const clock = { now: 0 };
  return { clock, limiter: new WrongKeyLimiter(() => clock.now) };
}

it("allows 20 failures at once, then one in 3 seconds", () => {
  const { clock, limiter: failures } = limiter();
  for (let count = 0; count < 20; count++) {
    expect(failures.waitMs("10.0.0.1")).toBe(0);
    failures.failed("10.0.0.1");
  }
  expect(failures.waitMs("10.0.0.1")).toBe(3000);
  expect(failures.waitMs("10.0.0.2")).toBe(0);
  clock.now = 3000;
  expect(failures.waitMs("10.0.0.1")).toBe(0);
  failures.failed("10.0.0.1");
  expect(failures.waitMs("10.0.0.1")).toBe(3000);
  clock.now = 63_000;
  for (let count = 0; count < 19; count++) failures.failed("10.0.0.1");
  expect(failures.waitMs("10.0.0.1")).toBe(0);
});

it("removes the longest unused address when it is full", () => {
  const { limiter: failures } = limiter();
  failures.accepted("192.0.2.1", "key_old");
  failures.accepted("192.0.2.2", "key_kept");
  for (let index = 0; index < 20_000; index++) {
    failures.failed(`10.0.${index >> 8}.${index & 255}`);
    if (index % 1000 === 0) failures.accepted("192.0.2.2", "key_kept");
  }
  expect(failures.size).toBe(10_000);
  expect(failures.hasKeys("192.0.2.1")).toBe(false);
  expect(failures.hadKey("192.0.2.2", "key_kept")).toBe(true);
  expect(failures.hadKey("192.0.2.2", "key_old")).toBe(false);
});

it.each([
  ["10.0.0.1", "10.0.0.1"],
  ["::ffff:10.0.0.1", "10.0.0.1"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["2001:0DB8:0000:0000:1:2:3:4", "2001:db8:0:0::/64"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
])("counts %s as %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});
