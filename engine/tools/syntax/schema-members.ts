interface SchemaMember {
  key: string;
  schema: unknown;
  required: boolean;
}

/** The members that the JSON schema of an object names, in the order of its `properties`. */
export function schemaMembers({ properties, required }: Record<string, unknown>): SchemaMember[] {
  const known = typeof properties === "object" && properties !== null ? Object.entries(properties) : [];
  const needed = new Set<unknown>(Array.isArray(required) ? required : []);
  return known.map(([key, schema]) => ({ key, schema, required: needed.has(key) }));
}
