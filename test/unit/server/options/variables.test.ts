import { expect, it } from "vitest";
import { variableName } from "../../../../server/options/name.ts";
import { OPTION_KEYS } from "../../../../server/options/table.ts";
import { unreadVariables } from "../../../../server/options/variables.ts";

it("reports a misspelt variable with the nearest name", () => {
  expect(unreadVariables({ NIGHTSHIFT_DATADIR: "x", NIGHTSHIFT_PROT: "1", PATH: "/bin" })).toEqual([
    "No option reads NIGHTSHIFT_DATADIR. Did you mean NIGHTSHIFT_DATA_DIR?",
    "No option reads NIGHTSHIFT_PROT. Did you mean NIGHTSHIFT_PORT?",
  ]);
});

it("suggests nothing for an unrelated name", () => {
  expect(unreadVariables({ NIGHTSHIFT_SERVICE_ACCOUNT_TOKEN: "x" })).toEqual([
    "No option reads NIGHTSHIFT_SERVICE_ACCOUNT_TOKEN.",
  ]);
});

it("reports no variable that is read", () => {
  const read = OPTION_KEYS.filter((key) => key !== "webhooks" && key !== "routes");
  const env = Object.fromEntries(["config", "url", "failpoints", ...read].map((key) => [variableName(key), ""]));
  expect(unreadVariables(env)).toEqual([]);
  expect(unreadVariables({ NIGHTSHIFT_WEBHOOKS: "it stands in the file alone" })).toHaveLength(1);
});
