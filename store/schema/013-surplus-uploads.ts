/** An owner's uploads that are over, the latest first: those that are too many are found without reading the others. */
export const sql = `
CREATE INDEX uploads_over_by_owner ON uploads (owner, expires_at DESC, id) WHERE status <> 'pending';
`;
