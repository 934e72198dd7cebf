/**
 * How many requests of flex and batch each replica of an upstream took at last, without and beside online requests: the first
 * limits of the next start. Rows of replicas that are configured no more are removed.
 */
export const sql = `
CREATE TABLE replica_limits (
  upstream TEXT NOT NULL,
  replica TEXT NOT NULL,
  alone INTEGER NOT NULL CHECK (alone >= 1),
  beside INTEGER NOT NULL CHECK (beside >= 1),
  -- Unix seconds.
  written_at INTEGER NOT NULL,
  PRIMARY KEY (upstream, replica)
) STRICT, WITHOUT ROWID;
`;
