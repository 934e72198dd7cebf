/**
 * Where removed files stood in their owner's list, for a client that pages through it and deletes as it goes: the file that
 * its last page ended with is gone by then. Forgotten after a day.
 */
export const sql = `
CREATE TABLE removed_files (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  seq INTEGER NOT NULL,
  removed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX removed_files_by_time ON removed_files (removed_at);

CREATE TRIGGER file_place_kept AFTER DELETE ON files BEGIN
  INSERT OR REPLACE INTO removed_files VALUES (old.id, old.owner, old.seq, unixepoch());
END;
`;
