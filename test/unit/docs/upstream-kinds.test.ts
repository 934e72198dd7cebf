import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { REQUEST_FEATURES } from "../../../engine/protocol/config.ts";
import { dialectOf } from "../../../engine/upstream/dialect/kinds.ts";
import { PRIORITY_STYLES } from "../../../engine/upstream/dialect/priority.ts";
import { UPSTREAM_KINDS } from "../../../engine/upstream/dialect/upstream-config.ts";

const page = readFileSync(new URL("../../../docs/upstreams.md", import.meta.url), "utf8");
const section = (title: string) => page.split(`${title}\n`)[1]?.split(/\n#+ /)[0] ?? "";

it("docs/upstreams.md has the kinds that do not take each part of a request", () => {
  const rows = section("### What is not taken").matchAll(/^\| (?!part|-)(.+?) \| (.+) \|$/gm);
  const said = [...rows].map(([, feature, kinds = ""]) => [feature, kinds.replaceAll("`", "").split(", ").sort()]);
  const meant = REQUEST_FEATURES.flatMap((feature) => {
    const kinds = UPSTREAM_KINDS.filter((kind) => dialectOf(kind).refuses.includes(feature)).sort();
    return kinds.length === 0 ? [] : [[feature, kinds]];
  });
  expect(said).toEqual(meant);
});

it("docs/upstreams.md has every kind and every way to take priorities", () => {
  const settings = section("## Configuration");
  for (const name of [...UPSTREAM_KINDS, ...PRIORITY_STYLES]) expect(settings).toContain(`\`${name}\``);
});
