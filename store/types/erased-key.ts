import type { Database } from "better-sqlite3";

/**
 * Whether the owner of a request's key was erased, or is being, since the key was made: what the request brings is not
 * stored any more. An erasure removes the key's row as its last step. Null, a request without a stored key: never.
 */
export function erasedKeyOf(db: Database): (keyId: string | null) => boolean {
  const find = db.prepare<{ keyId: string }, { erased: 0 | 1 }>(
    `SELECT EXISTS (SELECT 1 FROM erasures WHERE owner = keys.owner AND requested_at >= keys.created_at) AS erased
     FROM keys WHERE id = @keyId`,
  );
  return (keyId) => keyId !== null && find.get({ keyId })?.erased !== 0;
}
