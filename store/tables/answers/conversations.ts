import type { Database } from "better-sqlite3";
import {
  type AnswerWrite,
  CONVERSATION,
  type ConversationRow,
  type ItemRow,
  type NewItem,
} from "../../types/answer-rows.ts";
import { boundedRead } from "../../types/bounded-read.ts";
import type { Page } from "../../types/cursor-page.ts";
import { erasedKeyOf } from "../../types/erased-key.ts";
import { answerRefusal, MIN_ANSWER_BYTES, type Refusal } from "../../types/storage.ts";

/** Most items of a conversation: far more than a model's context has room for. */
export const MOST_CONVERSATION_ITEMS = 10_000;

export type Appending = "appended" | "absent" | "too_many_items" | Refusal | "erased";

export function itemBytes(items: readonly NewItem[]): number {
  return items.reduce((sum, { id, item }) => sum + Buffer.byteLength(item) + id.length, 0);
}

/** Appends items to a conversation, in the transaction of the caller. An item whose id is in it already is not added again. */
export function conversationAppending(db: Database) {
  const find = db.prepare<{ owner: string; id: string }, ConversationRow>(
    `SELECT ${CONVERSATION.select} FROM conversations WHERE id = @id AND owner = @owner AND removed_at IS NULL`,
  );
  const insert = db.prepare<{ conversation: number; owner: string; id: string; item: string }>(
    `INSERT INTO conversation_items (conversation, owner, id, item) VALUES (@conversation, @owner, @id, @item)
     ON CONFLICT DO NOTHING`,
  );
  const grow = db.prepare<{ seq: number; items: number; bytes: number }>(
    "UPDATE conversations SET items = items + @items, bytes = bytes + @bytes WHERE seq = @seq",
  );
  return (owner: string, id: string, items: readonly NewItem[]): "appended" | "absent" | "too_many_items" => {
    const conversation = find.get({ owner, id });
    if (conversation === undefined) return "absent";
    if (conversation.items + items.length > MOST_CONVERSATION_ITEMS) return "too_many_items";
    const added = items.filter((item) => insert.run({ conversation: conversation.seq, owner, ...item }).changes > 0);
    if (added.length > 0) grow.run({ seq: conversation.seq, items: added.length, bytes: itemBytes(added) });
    return "appended";
  };
}

/** Removes items of removed conversations, and the conversations without items; of all owners, or of one. */
export function conversationCollection(db: Database) {
  const next = db.prepare<[], { seq: number }>("SELECT seq FROM conversations WHERE removed_at IS NOT NULL LIMIT 1");
  const nextOf = db.prepare<{ owner: string }, { seq: number }>(
    "SELECT seq FROM conversations WHERE owner = @owner AND removed_at IS NOT NULL LIMIT 1",
  );
  const removeItems = db.prepare<{ seq: number; limit: number }>(
    `DELETE FROM conversation_items WHERE seq IN
       (SELECT seq FROM conversation_items WHERE conversation = @seq LIMIT @limit)`,
  );
  const remove = db.prepare<{ seq: number }>("DELETE FROM conversations WHERE seq = @seq");
  /** Returns how many rows were removed, at most `limit`; fewer when none is left. */
  return (owner: string | null, limit: number): number => {
    let removed = 0;
    while (removed < limit) {
      const gone = owner === null ? next.get() : nextOf.get({ owner });
      if (gone === undefined) break;
      removed += removeItems.run({ seq: gone.seq, limit: limit - removed }).changes;
      if (removed === limit) break;
      removed += remove.run(gone).changes;
    }
    return removed;
  };
}

/** Conversations and their items. */
export function conversations(db: Database) {
  const isErased = erasedKeyOf(db);
  const refusal = answerRefusal(db);
  const append = conversationAppending(db);
  const collect = conversationCollection(db);
  const get = db.prepare<{ owner: string; id: string }, ConversationRow>(
    `SELECT ${CONVERSATION.select} FROM conversations WHERE id = @id AND owner = @owner AND removed_at IS NULL`,
  );
  const insert = db.prepare<{ id: string; owner: string; metadata: string; createdAt: number; bytes: number }>(
    `INSERT INTO conversations (id, owner, metadata, items, bytes, created_at)
     VALUES (@id, @owner, @metadata, 0, @bytes, @createdAt)`,
  );
  const update = db.prepare<{ owner: string; id: string; metadata: string }, ConversationRow>(
    `UPDATE conversations SET metadata = @metadata WHERE id = @id AND owner = @owner AND removed_at IS NULL
     RETURNING ${CONVERSATION.select}`,
  );
  const mark = db.prepare<{ owner: string; id: string; now: number }>(
    "UPDATE conversations SET removed_at = @now WHERE id = @id AND owner = @owner AND removed_at IS NULL",
  );
  const item = db.prepare<{ conversation: number; id: string }, ItemRow>(
    "SELECT seq, id, item FROM conversation_items WHERE conversation = @conversation AND id = @id",
  );
  const lockedBy = db.prepare<{ owner: string; id: string }, { id: string }>(
    `SELECT id FROM responses WHERE owner = @owner AND conversation = @id AND status IN ('queued', 'in_progress')
       AND removed_at IS NULL LIMIT 1`,
  );
  const listed = (order: "ASC" | "DESC") =>
    db.prepare<{ conversation: number; after: number }, ItemRow>(
      `SELECT seq, id, item FROM conversation_items
       WHERE conversation = @conversation AND seq ${order === "ASC" ? ">" : "<"} @after ORDER BY seq ${order}`,
    );
  const lists = { asc: listed("ASC"), desc: listed("DESC") };
  const removeItem = db.prepare<{ seq: number }>("DELETE FROM conversation_items WHERE seq = @seq");
  const shrink = db.prepare<{ seq: number; bytes: number }, ConversationRow>(
    `UPDATE conversations SET items = items - 1, bytes = bytes - @bytes WHERE seq = @seq
     RETURNING ${CONVERSATION.select}`,
  );

  return {
    reads: {
      get: (args: { owner: string; id: string }): ConversationRow | null => get.get(args) ?? null,
      /** Id of the response in the background that is being added to a conversation; null for none. */
      lockedBy: (args: { owner: string; id: string }): string | null => lockedBy.get(args)?.id ?? null,
      item({ owner, id, item: itemId }: { owner: string; id: string; item: string }): NewItem | null {
        const conversation = get.get({ owner, id });
        return conversation === undefined ? null : (item.get({ conversation: conversation.seq, id: itemId }) ?? null);
      },
      /** Items in the order of their addition; a page may be shorter than `limit`. Null for an unknown conversation. */
      items(args: {
        owner: string;
        id: string;
        order: "asc" | "desc";
        /** Id of the last item of the previous page. */
        after: string | null;
        limit: number;
      }): Page<ItemRow> | null {
        const conversation = get.get(args)?.seq;
        if (conversation === undefined) return null;
        const cursor = args.after === null ? undefined : item.get({ conversation, id: args.after });
        if (args.after !== null && cursor === undefined) return "unknown_cursor";
        const after = cursor?.seq ?? (args.order === "asc" ? 0 : Number.MAX_SAFE_INTEGER);
        const all = lists[args.order].iterate({ conversation, after });
        const { rows, more } = boundedRead(all, (row) => row.item.length, args.limit);
        return { rows, hasMore: more };
      },
    },
    writes: {
      create(
        args: AnswerWrite & { row: { id: string; metadata: string; createdAt: number }; items: readonly NewItem[] },
      ): "created" | Refusal | "erased" {
        const { owner, row, items, keyId, bounds } = args;
        if (isErased(keyId)) return "erased";
        const bytes = MIN_ANSWER_BYTES + Buffer.byteLength(row.metadata);
        const refused = refusal(owner, { answers: 1, bytes: bytes + itemBytes(items) }, bounds);
        if (refused !== null) return refused;
        insert.run({ ...row, owner, bytes });
        append(owner, row.id, items);
        return "created";
      },
      update: (args: { owner: string; id: string; metadata: string }): ConversationRow | null =>
        update.get(args) ?? null,
      append(args: AnswerWrite & { id: string; items: readonly NewItem[] }): Appending {
        const { owner, id, items, keyId, bounds } = args;
        if (isErased(keyId)) return "erased";
        return refusal(owner, { answers: 0, bytes: itemBytes(items) }, bounds) ?? append(owner, id, items);
      },
      /** The conversation without the item; null where one of the two is unknown. */
      removeItem({ owner, id, item: itemId }: { owner: string; id: string; item: string }): ConversationRow | null {
        const conversation = get.get({ owner, id })?.seq;
        const found = conversation === undefined ? undefined : item.get({ conversation, id: itemId });
        if (conversation === undefined || found === undefined) return null;
        removeItem.run({ seq: found.seq });
        return shrink.get({ seq: conversation, bytes: itemBytes([found]) }) ?? null;
      },
      /** Removes a conversation; items beyond `limit` are left to `collect`. False for an unknown one. */
      remove(args: { owner: string; id: string; now: number; limit: number }): boolean {
        if (mark.run(args).changes === 0) return false;
        collect(args.owner, args.limit);
        return true;
      },
      /** Removes rows of removed conversations, at most `limit`. Returns how many. */
      collect: ({ limit }: { limit: number }): number => collect(null, limit),
    },
    rebuilds: {},
  };
}
