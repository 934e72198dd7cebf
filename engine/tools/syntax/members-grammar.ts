import { schemaMembers } from "./schema-members.ts";

/**
 * Right-hand side for the members of an object with `divider` between them: first the required ones, then any of the
 * others, both in the order of the schema. `one` writes a member.
 */
export function membersRule(
  parameters: Record<string, unknown>,
  divider: string,
  one: (key: string, schema: unknown) => string,
): string {
  const members = schemaMembers(parameters);
  const must = members.filter(({ required }) => required).map(({ key, schema }) => one(key, schema));
  const may = members.filter(({ required }) => !required).map(({ key, schema }) => one(key, schema));
  const after = (others: string[]) => others.map((member) => `(${divider} ${member})?`);
  if (must.length > 0) return [must.join(` ${divider} `), ...after(may)].join(" ");
  // Without required members, any member may be the first, and those after it may follow.
  const beginnings = may.map((member, index) => [member, ...after(may.slice(index + 1))].join(" "));
  return beginnings.length === 0 ? "" : `(${beginnings.join(" | ")})?`;
}
