/**
 * Storage of each owner: the number of its files, and the bytes of files and of parts of open uploads, each counted as
 * at least one disk block of 4 KiB. Triggers maintain it, so that every insertion and removal is counted and no
 * statement adds up all rows. Parts are deleted before their upload.
 */
export const sql = `
CREATE TABLE storage (
  owner TEXT PRIMARY KEY,
  files INTEGER NOT NULL,
  bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO storage SELECT owner, sum(files), sum(bytes) FROM (
  SELECT owner, 1 AS files, max(bytes, 4096) AS bytes FROM files
  UNION ALL
  SELECT u.owner, 0, max(p.bytes, 4096) FROM upload_parts p JOIN uploads u ON u.id = p.upload_id
) GROUP BY owner;

CREATE TRIGGER file_stored AFTER INSERT ON files BEGIN
  INSERT INTO storage VALUES (new.owner, 1, max(new.bytes, 4096))
    ON CONFLICT DO UPDATE SET files = files + 1, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER file_removed AFTER DELETE ON files BEGIN
  UPDATE storage SET files = files - 1, bytes = bytes - max(old.bytes, 4096) WHERE owner = old.owner;
  DELETE FROM storage WHERE owner = old.owner AND files = 0 AND bytes = 0;
END;
CREATE TRIGGER part_stored AFTER INSERT ON upload_parts BEGIN
  INSERT INTO storage SELECT owner, 0, max(new.bytes, 4096) FROM uploads WHERE id = new.upload_id
    ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER part_removed AFTER DELETE ON upload_parts BEGIN
  UPDATE storage SET bytes = bytes - max(old.bytes, 4096)
    WHERE owner = (SELECT owner FROM uploads WHERE id = old.upload_id);
  DELETE FROM storage
    WHERE owner = (SELECT owner FROM uploads WHERE id = old.upload_id) AND files = 0 AND bytes = 0;
END;
`;
