/**
 * The events of background responses that were created as streams, so that they can be sent again. A row of
 * `response_events` has the outputs of some steps as JSON, from which the events are written again; a row without any begins
 * a run of the response. Rows of an earlier run are removed when another one begins, and their numbers are not used again.
 */
export const sql = `
CREATE TABLE response_streams (
  response INTEGER PRIMARY KEY REFERENCES responses (seq),
  -- 1 where the reasoning is sealed in its items.
  sealed INTEGER NOT NULL CHECK (sealed IN (0, 1)),
  -- The sequence number of the next event.
  next INTEGER NOT NULL CHECK (next >= 0)
) STRICT;

CREATE TABLE response_events (
  response INTEGER NOT NULL REFERENCES response_streams (response),
  -- The sequence number of its first event.
  number INTEGER NOT NULL,
  said TEXT,
  PRIMARY KEY (response, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX responses_open_in_conversation ON responses (owner, conversation)
  WHERE conversation IS NOT NULL AND status IN ('queued', 'in_progress') AND removed_at IS NULL;
`;
