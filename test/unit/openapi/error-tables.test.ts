import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { codeTable, errorTable, withBlock } from "../../../openapi/document/error-tables.ts";
import { BATCH_ERRORS, LINE_ERRORS } from "../../../openapi/resources/batch-errors.ts";

function pageOf(name: string): string {
  return readFileSync(new URL(`../../../docs/${name}`, import.meta.url), "utf8");
}

// After a change to the catalogues: npx vitest run test/unit/openapi/error-tables -u
it("docs/api.md has the table of the error catalogue", async () => {
  const page = withBlock(pageOf("api.md"), "errors", errorTable());
  await expect(page).toMatchFileSnapshot("../../../docs/api.md");
});

it("docs/batches.md has the tables of batch and line errors", async () => {
  const batch = withBlock(pageOf("batches.md"), "batch errors", codeTable("code in `errors.data`", BATCH_ERRORS));
  const page = withBlock(batch, "line errors", codeTable("code in `error`", LINE_ERRORS));
  await expect(page).toMatchFileSnapshot("../../../docs/batches.md");
});
