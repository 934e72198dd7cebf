/** Finds terminal uploads by `expires_at`, by which they are removed. */
export const sql = `
CREATE INDEX uploads_settled ON uploads (expires_at) WHERE status <> 'pending';
`;
