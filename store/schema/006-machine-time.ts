/**
 * What the machine's time went to, by hour (Unix seconds of its beginning), in microseconds. `busy_us` is the time of steps
 * and pieces, divided over what was in them; `up_us` how long a server ran on it, whatever it did. Of several engines that
 * compute at once each has its own time, so an hour can have more of it than the hour is long.
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
