import { expect, test } from "vitest";
import { Automaton, type State } from "../../../engine/worker/grammar/automaton.ts";
import { compileGbnf } from "../../../grammar/gbnf/compile-gbnf.ts";
import { FORMATS } from "../../../grammar/language/formats.ts";
import { SHORTER } from "../../../grammar/language/network-formats.ts";
import { schemaReader } from "./reads.ts";
import { schemaCheck } from "./schema-check.ts";

/** Values that documents, logs and forms have, by format. */
const EVERYDAY: Readonly<Record<string, readonly string[]>> = {
  date: ["2026-11-21", "2000-01-01", "2000-02-29", "1900-12-31", "0001-01-01"],
  time: ["09:30:00Z", "23:59:59.999999999+05:30", "00:00:00-08:00"],
  "date-time": [
    "2026-11-21T23:59:59Z",
    "2026-11-21T23:59:59.123456789Z",
    "2026-11-21t08:00:00.5-08:00",
    "2000-10-10T10:10:10z",
  ],
  duration: ["PT0S", "P0D", "P1Y", "P1Y2M3DT4H5M6S", "PT36H", "P2W", "PT1H30M", "P1M2D", "P1000000D"],
  email: [
    "joe.bloggs@example.com",
    "Joe.Bloggs@Example.COM",
    "o'brien+tag@mail.example.co.uk",
    "x@xn--bcher-kva.example",
    "root@localhost",
    "a_b-c%d@verylongcompanynamewithouthyphens.com",
    "user@[192.0.2.1]",
  ],
  hostname: [
    "localhost",
    "WWW.Example.COM",
    "a.b.c.d.e.f.g.example.com",
    "my-host-1.internal",
    "a--b.example",
    "7-eleven.example",
    "ec2-203-0-113-25.eu-central-1.compute.amazonaws.com",
    "a123456789012345678901234567890123456789012345678901234567890bc.com",
  ],
  ipv4: ["0.0.0.0", "192.0.2.255", "255.255.255.255"],
  ipv6: [
    "::",
    "::1",
    "2001:db8::1",
    "2001:db8::8a2e:370:7334",
    "2001:DB8:0:0:8:800:200C:417A",
    "::ffff:192.0.2.1",
    "64:ff9b::192.0.2.33",
    "fe80::",
    "1:2:3:4:5:6:7::",
    "::2:3:4:5:6:7:8",
    "1:2:3:4:5:6:192.0.2.1",
  ],
  uri: [
    "https://example.com/a%20b",
    "http://foo.com/blah_(wikipedia)_blah#cite-1",
    "https://example.com/maps/@48.1,11.5,12z?q=a+b&c=d%26",
    "http://192.0.2.1:65535/x",
    "http://[2001:db8::7]/c=GB?one",
    "https://Example.COM:12345",
    "https://user:secret@example.com/",
    "mailto:John.Doe+x@example.com",
    "tel:+1-816-555-1212",
    "urn:isbn:0451450523",
    "ftp://ftp.is.co.za/rfc/rfc1808.txt",
    "file:///etc/hosts",
    "data:text/plain;base64,SGVsbG8=",
    "s3://bucket/key/with-dashes",
    "postgres://db.internal:5432/name?sslmode=require",
    "HTTP://EXAMPLE.COM/",
    "h2:x",
  ],
  uuid: [
    "00000000-0000-0000-0000-000000000000",
    "12345678-1234-1234-1234-1234567890ab",
    "123E4567-E89B-12D3-A456-426614174000",
    "01890a5d-ac96-774b-bcce-b302099a8057",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
  ],
};

/** Texts that are close to the format and not valid. */
const WRONG: Readonly<Record<string, readonly string[]>> = {
  date: ["1900-02-29", "2026-02-30", "2026-04-31", "0000-01-01", "2026-1-1"],
  time: ["24:00:00Z", "09:30:00", "09:60:00Z"],
  "date-time": ["2026-11-21 23:59:59Z", "2026-11-21T23:59:59", "2100-02-29T00:00:00Z"],
  duration: ["P", "PT", "P1Y2D", "PT1H2S", "P1YT", "P1D2H", "PT0.5S", "P1WT1H"],
  email: [
    ".a@example.com",
    "a..b@example.com",
    "a.@example.com",
    "a@b@c.com",
    "a@",
    "a@[1.2.3.300]",
    "a b@example.com",
  ],
  hostname: ["", "-a.com", "a-.com", "a_b.com", "1.2.3.4", "example.", "xn--x.com", "1a--b", `${"a".repeat(64)}.com`],
  ipv4: ["256.0.0.1", "1.2.3", "01.2.3.4"],
  ipv6: [
    "1::2::3",
    "12345::",
    ":1",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "::1.2.3.256",
    "1:2:3:4:5:6:7:1.2.3.4",
    "1:2:3:4:5:6:7:8::",
  ],
  uri: [
    "/abc",
    "//a/b",
    "http://",
    "http:// a.com",
    "http://a.com/%6G",
    "http://a.com:99999/",
    "a b:c",
    "1http://a.com",
    "http:x",
    "http://a.com/<>",
  ],
  uuid: [
    "12345678123412341234123456789012",
    "g2345678-1234-1234-1234-1234567890ab",
    "{12345678-1234-1234-1234-1234567890ab}",
  ],
};

const cases = Object.entries(EVERYDAY).flatMap(([format, values]) =>
  values.map((value): [string, string] => [format, value]),
);

test("every format has everyday values, 49 and more of all", () => {
  expect(Object.keys(EVERYDAY).sort()).toEqual([...FORMATS.keys()].sort());
  expect(cases.length).toBeGreaterThanOrEqual(49);
});

test.each(Object.keys(EVERYDAY))("everyday values of the format %s can be written", (format) => {
  const schema = { type: "string", format };
  const reads = schemaReader(schema);
  const check = schemaCheck(schema);
  for (const value of EVERYDAY[format]!) {
    expect(reads(JSON.stringify(value)), value).toBe(true);
    expect(check(value), value).toBeNull();
  }
});

test.each(Object.keys(WRONG))("texts that are not of the format %s cannot be written", (format) => {
  const reads = schemaReader({ type: "string", format });
  for (const value of WRONG[format]!) expect(reads(JSON.stringify(value)), value).toBe(false);
});

test.each(["password", "byte", "binary", "uri-reference", "iri", "regex", "json-pointer", "int32", "phone"])(
  "the format %s is an annotation",
  (format) => {
    expect(schemaReader({ type: "string", format })('"any text: \\\\ é"')).toBe(true);
  },
);

test.each<[string, number, string, string]>([
  ["uri", 2083, "https://docs.example.com:8080/a%20b/c?d=e#f", "urn:x"],
  ["uri", 255, "https://example.com/?q=1", `https://example.com/${"a".repeat(240)}`],
  ["email", 320, "o'brien@mail.example.co.uk", `${"a".repeat(65)}@example.com`],
  ["email", 255, "Joe.Bloggs+x@mail.example.com", `${"a".repeat(64)}@${"b".repeat(61)}.com`],
  ["email", 120, "joe@example.com", `joe@${"b".repeat(61)}.com`],
  ["hostname", 253, "a.b.c.d.e.example.com", "a..b"],
  ["email", 64, "joe.bloggs@mail.example.com", `joe@${"b".repeat(20)}.com`],
  ["hostname", 63, "www.example.com", `${"a".repeat(40)}.com`],
  ["hostname", 32, "db1.internal", "www.example.com"],
  ["uri", 128, "https://docs.example.com:8080/a?b=c", `https://${"a".repeat(20)}.com/`],
])("the format %s beside a maxLength of %i is enforced within the length", (format, maxLength, good, other) => {
  const schema = { type: "string", format, minLength: 1, maxLength };
  const reads = schemaReader(schema);
  expect([good, other].map((text) => reads(JSON.stringify(text)))).toEqual([true, false]);
  expect(schemaCheck(schema)(good)).toBeNull();
});

test.each([
  ["email", 40, 62],
  ["hostname", 28, 29],
  ["uri", 100, 109],
])("the format %s beside a maxLength of %i is refused with the length that is enforced", (format, maxLength, least) => {
  const refused = `the format is enforced beside a maxLength of ${least} or more alone`;
  expect(() => schemaReader({ type: "string", format, maxLength })).toThrow(refused);
  expect(() => schemaReader({ type: "string", format, maxLength: least })).not.toThrow();
});

test.each([...SHORTER.values()].flat())("a part of a format has texts of at most %i characters", (most, body) => {
  const automaton = new Automaton(compileGbnf(`root ::= ${body}`));
  let longest = 0;
  for (let states = new Set<State>([automaton.start]); states.size > 0; longest++) {
    const next = new Set<State>();
    for (const state of states) {
      for (let byte = 0x21; byte < 0x7f; byte++) {
        const after = automaton.step(state, byte);
        if (after !== null) next.add(after);
        automaton.pay();
      }
    }
    states = next;
  }
  expect(longest - 1).toBeLessThanOrEqual(most);
});
