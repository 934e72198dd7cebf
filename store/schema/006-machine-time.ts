/**
 * Machine time by hour (Unix seconds of its beginning), in microseconds. `busy_us` is the time of steps and embedding
 * batches, attributed to their requests; `up_us` is the server's uptime. Each engine that computes has its own time, so
 * an hour can have more busy time than it is long.
 */
export const sql = `
CREATE TABLE machine_time (
  hour INTEGER NOT NULL CHECK (hour % 3600 = 0),
  model TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  tier TEXT NOT NULL CHECK (tier IN ('priority', 'default', 'flex', 'batch')),
  busy_us INTEGER NOT NULL CHECK (busy_us >= 0),
  PRIMARY KEY (hour, model, endpoint, tier)
) STRICT, WITHOUT ROWID;

CREATE TABLE machine_hours (
  hour INTEGER PRIMARY KEY CHECK (hour % 3600 = 0),
  up_us INTEGER NOT NULL CHECK (up_us >= 0)
) STRICT;
`;
