/**
 * Files, uploads, batches with their lines and results, the ledger and the webhook outbox. Times are Unix seconds
 * unless the name ends in `_ms`. Lists and cursors use `seq`, the order of creation, so that rows of one second keep a
 * stable order. The SQL is in a module, not in an .sql file, so that the compiled package includes it.
 */
export const sql = `
CREATE TABLE files (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  purpose TEXT NOT NULL,
  filename TEXT NOT NULL,
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  sha256 TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER
) STRICT;
CREATE INDEX files_by_owner ON files (owner, seq);
CREATE INDEX files_by_expiry ON files (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE uploads (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  filename TEXT NOT NULL,
  purpose TEXT NOT NULL,
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  mime_type TEXT NOT NULL,
  file_expires_after INTEGER,
  status TEXT NOT NULL CHECK (status IN ('pending', 'completed', 'cancelled', 'expired')),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  file_id TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX uploads_pending ON uploads (expires_at) WHERE status = 'pending';

CREATE TABLE upload_parts (
  id TEXT PRIMARY KEY,
  upload_id TEXT NOT NULL REFERENCES uploads (id),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  md5 TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX upload_parts_by_upload ON upload_parts (upload_id);

-- input_file_id has no foreign key: a batch may name an unknown file (it then fails), and outlives its files.
CREATE TABLE batches (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  model TEXT,
  input_file_id TEXT NOT NULL,
  completion_window TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN
    ('validating', 'failed', 'in_progress', 'finalizing', 'completed', 'expired', 'cancelling', 'cancelled')),
  errors TEXT,
  metadata TEXT,
  output_expires_after TEXT,
  created_at INTEGER NOT NULL,
  in_progress_at INTEGER,
  expires_at INTEGER NOT NULL,
  finalizing_at INTEGER,
  completed_at INTEGER,
  failed_at INTEGER,
  expired_at INTEGER,
  cancelling_at INTEGER,
  cancelled_at INTEGER,
  output_file_id TEXT,
  error_file_id TEXT,
  total INTEGER NOT NULL DEFAULT 0,
  completed INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  cached_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  reasoning_tokens INTEGER NOT NULL DEFAULT 0,
  cost_nano INTEGER NOT NULL DEFAULT 0,
  estimated_tokens INTEGER NOT NULL DEFAULT 0,
  settled_tokens INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX batches_by_owner ON batches (owner, seq);
CREATE INDEX batches_by_input ON batches (input_file_id);
CREATE INDEX batches_by_output ON batches (output_file_id) WHERE output_file_id IS NOT NULL;
CREATE INDEX batches_by_error ON batches (error_file_id) WHERE error_file_id IS NOT NULL;
CREATE INDEX batches_open ON batches (status, expires_at)
  WHERE status IN ('validating', 'in_progress', 'finalizing', 'cancelling');

CREATE TABLE lines (
  batch_id TEXT NOT NULL REFERENCES batches (id),
  number INTEGER NOT NULL CHECK (number >= 1),
  custom_id TEXT NOT NULL,
  offset INTEGER NOT NULL,
  length INTEGER NOT NULL,
  position INTEGER NOT NULL,
  estimated_tokens INTEGER NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending'
    CHECK (state IN ('pending', 'running', 'done', 'failed', 'cancelled', 'expired')),
  attempts INTEGER NOT NULL DEFAULT 0,
  not_before_ms INTEGER NOT NULL DEFAULT 0,
  suspect INTEGER NOT NULL DEFAULT 0,
  lone_deaths INTEGER NOT NULL DEFAULT 0,
  sole_deaths INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (batch_id, number),
  UNIQUE (batch_id, custom_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX lines_pending ON lines (batch_id, suspect, position) WHERE state = 'pending';
CREATE INDEX lines_running ON lines (batch_id, number) WHERE state = 'running';
CREATE INDEX lines_suspect ON lines (suspect) WHERE suspect > 0;

CREATE TABLE results (
  batch_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('output', 'error')),
  request_id TEXT,
  status_code INTEGER,
  body TEXT NOT NULL,
  FOREIGN KEY (batch_id, number) REFERENCES lines (batch_id, number)
) STRICT;
CREATE UNIQUE INDEX results_once ON results (batch_id, number);

CREATE TABLE ledger (
  id INTEGER PRIMARY KEY,
  time INTEGER NOT NULL,
  owner TEXT NOT NULL,
  key_id TEXT,
  endpoint TEXT NOT NULL,
  model TEXT NOT NULL,
  version TEXT NOT NULL,
  tier TEXT NOT NULL CHECK (tier IN ('priority', 'default', 'flex', 'batch')),
  batch_id TEXT,
  line INTEGER,
  input_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  cost_nano INTEGER NOT NULL,
  default_cost_nano INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX ledger_once ON ledger (batch_id, line) WHERE batch_id IS NOT NULL;
CREATE INDEX ledger_by_time ON ledger (time);

CREATE TABLE idempotency (
  owner TEXT NOT NULL,
  key TEXT NOT NULL,
  request_sha256 TEXT NOT NULL,
  batch_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (owner, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_time ON idempotency (created_at);

-- One row per event and endpoint: the event id is the webhook-id that stays the same over retries.
CREATE TABLE outbox (
  id TEXT NOT NULL,
  endpoint_url TEXT NOT NULL,
  type TEXT NOT NULL,
  payload TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_at_ms INTEGER NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'dead')),
  last_error TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (id, endpoint_url)
) STRICT, WITHOUT ROWID;
CREATE INDEX outbox_due ON outbox (next_at_ms) WHERE state = 'pending';

-- What the writability probe writes: enough pages that a full disk shows.
CREATE TABLE probe (id INTEGER PRIMARY KEY CHECK (id = 1), filler BLOB NOT NULL) STRICT;
`;
