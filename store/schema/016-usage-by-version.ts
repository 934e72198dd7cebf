/**
 * Marks the ledger's rows whose tokens are estimates: those that an upstream did not count. The sums by hour are also by this
 * mark and by the model's version, which names the upstream. Sums whose rows retention has removed have the version ''.
 */
export const sql = `
ALTER TABLE ledger ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0 CHECK (estimated IN (0, 1));

ALTER TABLE usage_hours RENAME TO usage_hours_before;
CREATE TABLE usage_hours (
  owner TEXT NOT NULL,
  hour INTEGER NOT NULL CHECK (hour % 3600 = 0),
  key_id TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  model TEXT NOT NULL,
  version TEXT NOT NULL,
  tier TEXT NOT NULL CHECK (tier IN ('priority', 'default', 'flex', 'batch')),
  batch INTEGER NOT NULL CHECK (batch IN (0, 1)),
  estimated INTEGER NOT NULL CHECK (estimated IN (0, 1)),
  requests INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  cost_nano INTEGER NOT NULL,
  default_cost_nano INTEGER NOT NULL,
  PRIMARY KEY (owner, hour, key_id, endpoint, model, version, tier, batch, estimated)
) STRICT, WITHOUT ROWID;
INSERT INTO usage_hours
  SELECT owner, time - time % 3600, coalesce(key_id, ''), endpoint, model, version, tier, batch_id IS NOT NULL, 0, count(*),
    sum(input_tokens), sum(cached_tokens), sum(output_tokens), sum(reasoning_tokens), sum(cost_nano),
    sum(default_cost_nano)
  FROM ledger GROUP BY 1, 2, 3, 4, 5, 6, 7, 8;
INSERT INTO usage_hours
  SELECT owner, hour, key_id, endpoint, model, '', tier, batch, 0, old.requests - ifnull(sum(new.requests), 0),
    old.input_tokens - ifnull(sum(new.input_tokens), 0), old.cached_tokens - ifnull(sum(new.cached_tokens), 0),
    old.output_tokens - ifnull(sum(new.output_tokens), 0), old.reasoning_tokens - ifnull(sum(new.reasoning_tokens), 0),
    old.cost_nano - ifnull(sum(new.cost_nano), 0), old.default_cost_nano - ifnull(sum(new.default_cost_nano), 0)
  FROM usage_hours_before AS old LEFT JOIN usage_hours AS new USING (owner, hour, key_id, endpoint, model, tier, batch)
  GROUP BY 1, 2, 3, 4, 5, 7, 8 HAVING old.requests > ifnull(sum(new.requests), 0);
DROP TABLE usage_hours_before;
CREATE INDEX usage_hours_by_hour ON usage_hours (hour);
`;
