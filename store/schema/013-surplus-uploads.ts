/** Indexes an owner's terminal uploads, the latest first, so that the surplus is found without reading the others. */
export const sql = `
CREATE INDEX uploads_over_by_owner ON uploads (owner, expires_at DESC, id) WHERE status <> 'pending';
`;
