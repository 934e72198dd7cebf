import { schemaMembers } from "./schema-members.ts";

/**
 * Right-hand side for the members of an object in the order of its schema, with `divider` between them: the required ones
 * are there, the others may be. `one` writes a member.
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
  // None is required: any of them may be the first, and those behind it may follow.
  const beginnings = may.map((member, index) => [member, ...after(may.slice(index + 1))].join(" "));
  return beginnings.length === 0 ? "" : `(${beginnings.join(" | ")})?`;
}
