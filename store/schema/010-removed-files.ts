/**
 * Positions of removed files in their owner's list. A client that pages through the list and deletes as it goes uses
 * the last file of a page as its cursor, and that file is gone. Rows are removed after a day.
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
