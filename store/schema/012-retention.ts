/** Indexes to find rows by age, for retention, and by owner, for erasure. */
export const sql = `
CREATE INDEX batches_ended ON batches (created_at) WHERE status IN ('failed', 'completed', 'expired', 'cancelled');
CREATE INDEX files_by_age ON files (created_at);
CREATE INDEX keys_revoked ON keys (revoked_at) WHERE revoked_at IS NOT NULL;
CREATE INDEX keys_expiring ON keys (expires_at) WHERE expires_at IS NOT NULL;
DROP INDEX uploads_pending_by_owner;
CREATE INDEX uploads_by_owner ON uploads (owner, status);
CREATE INDEX removed_files_by_owner ON removed_files (owner);
CREATE INDEX outbox_warnings ON outbox (json_extract(payload, '$.data.id')) WHERE type = 'nightshift.budget.warning';

-- Owners whose data up to a moment is being removed; a start goes on with it.
CREATE TABLE erasures (
  owner TEXT PRIMARY KEY,
  requested_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`;
