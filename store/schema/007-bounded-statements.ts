/**
 * Makes every statement's work independent of table size: maintained counts, an index for each search, and results that
 * are marked in one transaction and removed in several.
 */
export const sql = `
-- Results whose file was deleted: the store's thread removes them in steps.
CREATE TABLE result_removals (
  batch_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('output', 'error')),
  PRIMARY KEY (batch_id, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX results_by_kind ON results (batch_id, kind, number);

CREATE TABLE batch_counts (
  status TEXT PRIMARY KEY,
  count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO batch_counts SELECT status, count(*) FROM batches GROUP BY status;
CREATE TRIGGER batches_inserted AFTER INSERT ON batches BEGIN
  INSERT INTO batch_counts VALUES (new.status, 1) ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER batches_changed AFTER UPDATE OF status ON batches BEGIN
  UPDATE batch_counts SET count = count - 1 WHERE status = old.status;
  INSERT INTO batch_counts VALUES (new.status, 1) ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER batches_removed AFTER DELETE ON batches BEGIN
  UPDATE batch_counts SET count = count - 1 WHERE status = old.status;
END;

CREATE INDEX uploads_pending_by_owner ON uploads (owner) WHERE status = 'pending';
CREATE INDEX keys_administrators ON keys (expires_at) WHERE revoked_at IS NULL AND instr(scopes, '"admin"') > 0;
CREATE INDEX keys_warned ON keys (owner, id) WHERE soft_ratio IS NOT NULL AND revoked_at IS NULL;
CREATE INDEX budget_warnings_by_day ON budget_warnings (first_day);

DROP INDEX outbox_due;
CREATE INDEX outbox_due ON outbox (endpoint_url, next_at_ms) WHERE state = 'pending';
CREATE INDEX outbox_settled ON outbox (created_at) WHERE state <> 'pending';
`;
