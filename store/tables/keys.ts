import type { Database } from "better-sqlite3";
import { type Page, page } from "../types/cursor-page.ts";
import { KEY, KEY_TERMS, type KeyRow, type KeyTermsRow, NEW_KEY, type NewKey } from "../types/key-row.ts";

export interface Rotation {
  id: string;
  hash: string;
  /** Unix seconds until which the previous secret is valid; null ends it at once. */
  previousUntil: number | null;
}

export function keys(db: Database) {
  const insert = db.prepare<NewKey, KeyRow>(
    `INSERT INTO keys (${NEW_KEY.names}) VALUES (${NEW_KEY.values}) RETURNING ${KEY.select}`,
  );
  const get = db.prepare<{ id: string }, KeyRow>(`SELECT ${KEY.select} FROM keys WHERE id = @id`);
  const find = db.prepare<{ prefix: string }, KeyRow>(`SELECT ${KEY.select} FROM keys WHERE prefix = @prefix`);
  const list = db.prepare<{ after: number; limit: number }, KeyRow>(
    `SELECT ${KEY.select} FROM keys WHERE seq < @after ORDER BY seq DESC LIMIT @limit`,
  );
  const listOf = db.prepare<{ owner: string; after: number; limit: number }, KeyRow>(
    `SELECT ${KEY.select} FROM keys WHERE owner = @owner AND seq < @after ORDER BY seq DESC LIMIT @limit`,
  );
  const administrators = db.prepare<{ now: number }, { count: number }>(
    `SELECT count(*) AS count FROM keys WHERE revoked_at IS NULL AND instr(scopes, '"admin"') > 0
       AND (expires_at IS NULL OR expires_at > @now)`,
  );
  const update = db.prepare<KeyTermsRow & { id: string }, KeyRow>(
    `UPDATE keys SET (${KEY_TERMS.names}) = (${KEY_TERMS.values}) WHERE id = @id RETURNING ${KEY.select}`,
  );
  const rotate = db.prepare<Rotation, KeyRow>(
    `UPDATE keys SET hash = @hash, previous_hash = iif(@previousUntil IS NULL, NULL, hash),
       previous_until = @previousUntil
     WHERE id = @id AND revoked_at IS NULL RETURNING ${KEY.select}`,
  );
  const revoke = db.prepare<{ id: string; now: number }, KeyRow>(
    `UPDATE keys SET revoked_at = coalesce(revoked_at, @now), previous_hash = NULL, previous_until = NULL
     WHERE id = @id RETURNING ${KEY.select}`,
  );
  const touch = db.prepare<{ id: string; at: number }>(
    "UPDATE keys SET last_used_at = max(coalesce(last_used_at, 0), @at) WHERE id = @id",
  );

  return {
    reads: {
      get: (args: { id: string }): KeyRow | null => get.get(args) ?? null,
      /** Finds a key by the public part of its secret; the caller compares the rest. */
      find: (args: { prefix: string }): KeyRow | null => find.get(args) ?? null,
      /** Newest first, revoked keys included; `owner` null lists all; `after` is the last id of the previous page. */
      list({ owner, limit, after }: { owner: string | null; limit: number; after: string | null }): Page<KeyRow> {
        const cursor = after === null ? Number.MAX_SAFE_INTEGER : get.get({ id: after })?.seq;
        if (cursor === undefined) return "unknown_cursor";
        const bounds = { after: cursor, limit: limit + 1 };
        return page(owner === null ? list.all(bounds) : listOf.all({ owner, ...bounds }), limit);
      },
      /** Number of valid keys with the admin scope at `now` (Unix seconds). */
      administrators: (args: { now: number }): number => administrators.get(args)?.count ?? 0,
    },
    writes: {
      insert(row: NewKey): KeyRow {
        const made = insert.get(row);
        if (made === undefined) throw new Error("INSERT … RETURNING gave no row");
        return made;
      },
      /** Null: no such key. */
      update({ id, changes }: { id: string; changes: Partial<KeyTermsRow> }): KeyRow | null {
        const row = get.get({ id });
        return row === undefined ? null : (update.get({ ...row, ...changes }) ?? null);
      },
      /** Null: no such key, or it is revoked. */
      rotate: (args: Rotation): KeyRow | null => rotate.get(args) ?? null,
      /** Null: no such key. Revoking a revoked key changes nothing. */
      revoke: (args: { id: string; now: number }): KeyRow | null => revoke.get(args) ?? null,
      /** Stores when keys were last used, in Unix seconds. */
      touch({ uses }: { uses: { id: string; at: number }[] }): void {
        for (const use of uses) touch.run(use);
      },
    },
    rebuilds: {},
  };
}
