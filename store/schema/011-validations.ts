/**
 * `validations`: tries to validate a batch's file that did not come back, the present one included. The index is of lines
 * that wait after an attempt, or did: their waits are ended at a start, among millions that have none.
 */
export const sql = `
ALTER TABLE batches ADD COLUMN validations INTEGER NOT NULL DEFAULT 0;
CREATE INDEX lines_waiting ON lines (not_before_ms) WHERE not_before_ms > 0;
`;
