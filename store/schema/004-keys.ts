/**
 * API keys, and the key that each batch was created with. `hash` and `previous_hash` are SHA-256 of the whole secret,
 * in hex; the secret itself is not stored. After a rotation the previous secret is valid until `previous_until`. A
 * revoked key stays, so that usage keeps its name.
 */
export const sql = `
CREATE TABLE keys (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  prefix TEXT NOT NULL UNIQUE,
  hash TEXT NOT NULL CHECK (length(hash) = 64),
  previous_hash TEXT CHECK (length(previous_hash) = 64),
  previous_until INTEGER,
  name TEXT NOT NULL,
  owner TEXT NOT NULL,
  scopes TEXT NOT NULL CHECK (json_valid(scopes)),
  models TEXT CHECK (json_valid(models)),
  tiers TEXT CHECK (json_valid(tiers)),
  metadata TEXT CHECK (json_valid(metadata)),
  requests_per_minute INTEGER CHECK (requests_per_minute > 0),
  tokens_per_minute INTEGER CHECK (tokens_per_minute > 0),
  concurrent INTEGER CHECK (concurrent > 0),
  enqueued_tokens INTEGER CHECK (enqueued_tokens >= 0),
  storage_bytes INTEGER CHECK (storage_bytes >= 0),
  daily_nano INTEGER CHECK (daily_nano >= 0),
  monthly_nano INTEGER CHECK (monthly_nano >= 0),
  soft_ratio REAL CHECK (soft_ratio > 0 AND soft_ratio <= 1),
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  last_used_at INTEGER,
  CHECK ((previous_hash IS NULL) = (previous_until IS NULL))
) STRICT;
CREATE INDEX keys_by_owner ON keys (owner, seq);

ALTER TABLE batches ADD COLUMN key_id TEXT;
CREATE INDEX batches_by_key ON batches (key_id) WHERE key_id IS NOT NULL;
`;
