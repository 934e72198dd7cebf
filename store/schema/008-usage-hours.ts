/**
 * The ledger's sums by hour (Unix seconds of its beginning) with every dimension of the reports, written in the
 * ledger's own transactions: the two agree until retention removes old rows; the sums stay. `key_id` is '' for a row
 * without one.
 */
export const sql = `
CREATE TABLE usage_hours (
  owner TEXT NOT NULL,
  hour INTEGER NOT NULL CHECK (hour % 3600 = 0),
  key_id TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  model TEXT NOT NULL,
  tier TEXT NOT NULL CHECK (tier IN ('priority', 'default', 'flex', 'batch')),
  batch INTEGER NOT NULL CHECK (batch IN (0, 1)),
  requests INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  cost_nano INTEGER NOT NULL,
  default_cost_nano INTEGER NOT NULL,
  PRIMARY KEY (owner, hour, key_id, endpoint, model, tier, batch)
) STRICT, WITHOUT ROWID;
INSERT INTO usage_hours
  SELECT owner, time - time % 3600, coalesce(key_id, ''), endpoint, model, tier, batch_id IS NOT NULL, count(*),
    sum(input_tokens), sum(cached_tokens), sum(output_tokens), sum(reasoning_tokens), sum(cost_nano),
    sum(default_cost_nano)
  FROM ledger GROUP BY 1, 2, 3, 4, 5, 6, 7;
CREATE INDEX usage_hours_by_hour ON usage_hours (hour);
CREATE INDEX ledger_by_owner ON ledger (owner, time);
`;
