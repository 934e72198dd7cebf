/**
 * Budgets of owners, spending by day, and reservations of running requests. `spending` is the sum of the ledger and is
 * written in the ledger's own transactions, so the two always agree. A ledger row counts against the UTC `day` (days
 * since 1970) on which its request was admitted or its line was claimed, even when it ended after midnight.
 * Reservations belong to one run of the server: the next start removes them.
 */
export const sql = `
ALTER TABLE ledger ADD COLUMN day INTEGER NOT NULL DEFAULT 0;
UPDATE ledger SET day = time / 86400;

CREATE TABLE spending (
  scope TEXT NOT NULL CHECK (scope IN ('key', 'owner')),
  subject TEXT NOT NULL,
  day INTEGER NOT NULL,
  nano INTEGER NOT NULL,
  PRIMARY KEY (scope, subject, day)
) STRICT, WITHOUT ROWID;
INSERT INTO spending SELECT 'owner', owner, day, sum(cost_nano) FROM ledger GROUP BY owner, day;
INSERT INTO spending SELECT 'key', key_id, day, sum(cost_nano) FROM ledger WHERE key_id IS NOT NULL GROUP BY key_id, day;

CREATE TABLE owners (
  owner TEXT PRIMARY KEY,
  daily_nano INTEGER CHECK (daily_nano >= 0),
  monthly_nano INTEGER CHECK (monthly_nano >= 0),
  soft_ratio REAL CHECK (soft_ratio > 0 AND soft_ratio <= 1)
) STRICT, WITHOUT ROWID;

-- id is a name of the server's for a request, and batch/line for a line.
CREATE TABLE reservations (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  key_id TEXT,
  day INTEGER NOT NULL,
  nano INTEGER NOT NULL CHECK (nano >= 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX reservations_by_owner ON reservations (owner);

-- One row per budget and period that its owner was warned in; first_day is the period's.
CREATE TABLE budget_warnings (
  scope TEXT NOT NULL CHECK (scope IN ('key', 'owner')),
  subject TEXT NOT NULL,
  period TEXT NOT NULL CHECK (period IN ('daily', 'monthly')),
  first_day INTEGER NOT NULL,
  PRIMARY KEY (scope, subject, period, first_day)
) STRICT, WITHOUT ROWID;

-- Parts of a line's cost that its body has: its prompt, and max_tokens, if there are, for each of its choices.
ALTER TABLE lines ADD COLUMN prompt_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lines ADD COLUMN choices INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lines ADD COLUMN max_tokens INTEGER;
UPDATE lines SET prompt_tokens = estimated_tokens;
`;
