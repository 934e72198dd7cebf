import { expect, it } from "vitest";
import { optionsDocument } from "../../../../server/options/document.ts";

// After a change to the table: npx vitest run test/unit/options -u
it("docs/options.md equals the text made from the table", async () => {
  await expect(optionsDocument()).toMatchFileSnapshot("../../../../docs/options.md");
});
