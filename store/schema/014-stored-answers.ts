/**
 * Stored answers: responses with their items, conversations, and chat completions.
 *
 * | rule | by |
 * |---|---|
 * | a chain has no circle | a parent is an older row, and never changes |
 * | a removed response is kept while a later one continues it | `children`, maintained by triggers; `responses_unused` has those that can go |
 * | storage of an owner counts answers | triggers, as for files |
 *
 * JSON texts: `object` is the answer without its items, `item` one item, `messages` the list of a chat's request.
 */
export const sql = `
ALTER TABLE storage ADD COLUMN answers INTEGER NOT NULL DEFAULT 0;
DROP TRIGGER file_stored;
CREATE TRIGGER file_stored AFTER INSERT ON files BEGIN
  INSERT INTO storage (owner, files, bytes) VALUES (new.owner, 1, max(new.bytes, 4096))
    ON CONFLICT DO UPDATE SET files = files + 1, bytes = bytes + excluded.bytes;
END;
DROP TRIGGER part_stored;
CREATE TRIGGER part_stored AFTER INSERT ON upload_parts BEGIN
  INSERT INTO storage (owner, files, bytes) SELECT owner, 0, max(new.bytes, 4096) FROM uploads WHERE id = new.upload_id
    ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TABLE responses (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  model TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled')),
  background INTEGER NOT NULL CHECK (background IN (0, 1)),
  conversation TEXT,
  parent INTEGER REFERENCES responses (seq),
  -- Of the chain up to this response: responses, items, bytes of items.
  depth INTEGER NOT NULL CHECK (depth >= 1),
  chain_items INTEGER NOT NULL,
  chain_bytes INTEGER NOT NULL,
  object TEXT NOT NULL,
  bytes INTEGER NOT NULL CHECK (bytes > 0),
  children INTEGER NOT NULL DEFAULT 0 CHECK (children >= 0),
  created_at INTEGER NOT NULL,
  removed_at INTEGER
) STRICT;
CREATE INDEX responses_by_owner ON responses (owner, seq);
CREATE INDEX responses_by_parent ON responses (parent) WHERE parent IS NOT NULL;
CREATE INDEX responses_by_age ON responses (created_at) WHERE removed_at IS NULL;
CREATE INDEX responses_unused ON responses (owner, seq) WHERE removed_at IS NOT NULL AND children = 0;

CREATE TABLE response_items (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  response INTEGER NOT NULL REFERENCES responses (seq),
  output INTEGER NOT NULL CHECK (output IN (0, 1)),
  owner TEXT NOT NULL,
  id TEXT NOT NULL,
  item TEXT NOT NULL
) STRICT;
CREATE INDEX response_items_by_response ON response_items (response, seq, output);
CREATE INDEX response_items_by_id ON response_items (owner, id);

CREATE TABLE conversations (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  metadata TEXT NOT NULL,
  items INTEGER NOT NULL CHECK (items >= 0),
  bytes INTEGER NOT NULL CHECK (bytes > 0),
  created_at INTEGER NOT NULL,
  removed_at INTEGER
) STRICT;
CREATE INDEX conversations_by_owner ON conversations (owner, created_at);
CREATE INDEX conversations_removed ON conversations (owner, seq) WHERE removed_at IS NOT NULL;

CREATE TABLE conversation_items (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation INTEGER NOT NULL REFERENCES conversations (seq),
  owner TEXT NOT NULL,
  id TEXT NOT NULL,
  item TEXT NOT NULL,
  UNIQUE (conversation, id)
) STRICT;
CREATE INDEX conversation_items_in_order ON conversation_items (conversation, seq);
CREATE INDEX conversation_items_by_id ON conversation_items (owner, id);

CREATE TABLE completions (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  model TEXT NOT NULL,
  metadata TEXT NOT NULL,
  object TEXT NOT NULL,
  messages TEXT NOT NULL,
  bytes INTEGER NOT NULL CHECK (bytes > 0),
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX completions_by_owner ON completions (owner, seq);
CREATE INDEX completions_by_model ON completions (owner, model, seq);
CREATE INDEX completions_by_age ON completions (created_at);

CREATE TABLE completion_metadata (
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  completion INTEGER NOT NULL REFERENCES completions (seq) ON DELETE CASCADE,
  PRIMARY KEY (owner, name, value, completion)
) STRICT, WITHOUT ROWID;
CREATE INDEX completion_metadata_by_completion ON completion_metadata (completion);

-- Positions of removed completions in their owner's list, as in removed_files.
CREATE TABLE removed_completions (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  seq INTEGER NOT NULL,
  removed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX removed_completions_by_time ON removed_completions (removed_at);
CREATE INDEX removed_completions_by_owner ON removed_completions (owner);
CREATE TRIGGER completion_place_kept AFTER DELETE ON completions BEGIN
  INSERT OR REPLACE INTO removed_completions VALUES (old.id, old.owner, old.seq, unixepoch());
END;

CREATE TRIGGER response_continued AFTER INSERT ON responses WHEN new.parent IS NOT NULL BEGIN
  UPDATE responses SET children = children + 1 WHERE seq = new.parent;
END;
CREATE TRIGGER continuation_removed AFTER DELETE ON responses WHEN old.parent IS NOT NULL BEGIN
  UPDATE responses SET children = children - 1 WHERE seq = old.parent;
END;
${["responses", "conversations", "completions"].map(countedInStorage).join("")}`;

function countedInStorage(table: string): string {
  return `
CREATE TRIGGER ${table}_stored AFTER INSERT ON ${table} BEGIN
  INSERT INTO storage (owner, files, bytes, answers) VALUES (new.owner, 0, new.bytes, 1)
    ON CONFLICT DO UPDATE SET answers = answers + 1, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER ${table}_resized AFTER UPDATE OF bytes ON ${table} BEGIN
  UPDATE storage SET bytes = bytes - old.bytes + new.bytes WHERE owner = old.owner;
END;
CREATE TRIGGER ${table}_unstored AFTER DELETE ON ${table} BEGIN
  UPDATE storage SET answers = answers - 1, bytes = bytes - old.bytes WHERE owner = old.owner;
  DELETE FROM storage WHERE owner = old.owner AND files = 0 AND bytes = 0;
END;
`;
}
