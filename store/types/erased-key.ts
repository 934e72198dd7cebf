import type { Database } from "better-sqlite3";

/**
 * True when an erasure of the key's owner was requested at or after the key's creation: data of such a request must not
 * be stored. A missing key row counts as erased, because an erasure removes the key's row last. A null key id (a
 * request without a stored key) is never erased.
 */
export function erasedKeyOf(db: Database): (keyId: string | null) => boolean {
  const find = db.prepare<{ keyId: string }, { erased: 0 | 1 }>(
    `SELECT EXISTS (SELECT 1 FROM erasures WHERE owner = keys.owner AND requested_at >= keys.created_at) AS erased
     FROM keys WHERE id = @keyId`,
  );
  return (keyId) => keyId !== null && find.get({ keyId })?.erased !== 0;
}
