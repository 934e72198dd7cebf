/**
 * `validations` counts validation attempts of a batch that did not complete, the current one included. The index finds
 * the few lines with a backoff, which a start ends, among millions without one.
 */
export const sql = `
ALTER TABLE batches ADD COLUMN validations INTEGER NOT NULL DEFAULT 0;
CREATE INDEX lines_waiting ON lines (not_before_ms) WHERE not_before_ms > 0;
`;
