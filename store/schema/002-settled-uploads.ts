/** Uploads that are over are removed by the end of their hour, as pending ones expire by it. */
export const sql = `
CREATE INDEX uploads_settled ON uploads (expires_at) WHERE status <> 'pending';
`;
