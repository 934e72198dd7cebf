/** The first descriptor that systemd passes: sd_listen_fds(3). */
const FIRST = 3;

/** The listening socket that systemd made for this process by a .socket unit; null where it made none. */
export function inheritedSocket(env: Record<string, string | undefined>, pid: number): number | null {
  // The variables of a parent process are meant for that process.
  if (env.LISTEN_PID !== String(pid)) return null;
  return Number(env.LISTEN_FDS) >= 1 ? FIRST : null;
}
