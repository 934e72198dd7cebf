/** The first descriptor that systemd passes: sd_listen_fds(3). */
const FIRST = 3;

/** The listening socket that a .socket unit of systemd passed to this process; null where there is none. */
export function inheritedSocket(env: Record<string, string | undefined>, pid: number): number | null {
  // The variables may be inherited from a parent process, whose socket it is then.
  if (env.LISTEN_PID !== String(pid)) return null;
  return Number(env.LISTEN_FDS) >= 1 ? FIRST : null;
}
