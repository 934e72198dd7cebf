/**
 * Removes UNIQUE (batch_id, custom_id) from lines: validation checks it in memory for the whole file before the first
 * row is stored, and an index of ids in random order took more than half of the insertion's time. SQLite drops a
 * table's constraint only with the table, and what refers to the table with it.
 */
export const sql = `
CREATE TABLE new_lines (
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
  PRIMARY KEY (batch_id, number)
) STRICT, WITHOUT ROWID;
INSERT INTO new_lines
  SELECT batch_id, number, custom_id, offset, length, position, estimated_tokens, state, attempts, not_before_ms, suspect,
    lone_deaths, sole_deaths
  FROM lines;

CREATE TABLE new_results (
  batch_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('output', 'error')),
  request_id TEXT,
  status_code INTEGER,
  body TEXT NOT NULL,
  FOREIGN KEY (batch_id, number) REFERENCES new_lines (batch_id, number)
) STRICT;
INSERT INTO new_results SELECT batch_id, number, kind, request_id, status_code, body FROM results;

DROP TABLE results;
DROP TABLE lines;
ALTER TABLE new_lines RENAME TO lines;
ALTER TABLE new_results RENAME TO results;
CREATE INDEX lines_pending ON lines (batch_id, suspect, position) WHERE state = 'pending';
CREATE INDEX lines_running ON lines (batch_id, number) WHERE state = 'running';
CREATE INDEX lines_suspect ON lines (suspect) WHERE suspect > 0;
CREATE UNIQUE INDEX results_once ON results (batch_id, number);
`;
