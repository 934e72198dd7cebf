import { chmod, lstat, unlink } from "node:fs/promises";
import { connect, type Server } from "node:net";

/** Owner and group may connect: the user of a proxy joins the group. */
const MODE = 0o660;

/** Listens on a Unix socket. A socket file that a killed process left is replaced; one that is in use fails with EADDRINUSE. */
export async function listenOnPath(server: Server, path: string): Promise<void> {
  if (await isStale(path)) await unlink(path);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      server.off("error", reject);
      resolve();
    });
  });
  await chmod(path, MODE);
}

/** True for the file of a socket on which no process listens. */
async function isStale(path: string): Promise<boolean> {
  const stats = await lstat(path).catch(() => null);
  if (stats === null || !stats.isSocket()) return false;
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(false);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"));
  });
}
