import { chmod, lstat, stat, unlink } from "node:fs/promises";
import { connect, type Server } from "node:net";
import { dirname } from "node:path";

/** Owner and group may connect: the user of a proxy joins the group. */
const MODE = 0o660;

/** Bytes of a path in sockaddr_un, without its final zero; Node would cut a longer one. */
const MOST_BYTES = process.platform === "linux" ? 107 : 103;

/** Listens on a Unix socket. A socket file that a killed process left is replaced; one that is in use fails with EADDRINUSE. */
export async function listenOnPath(server: Server, path: string): Promise<void> {
  if (Buffer.byteLength(path) > MOST_BYTES) throw new Error(`the path is longer than ${MOST_BYTES} bytes`);
  // The system's own error would be "permission denied".
  const folder = await stat(dirname(path)).catch(() => null);
  if (!folder?.isDirectory()) throw new Error(`there is no folder ${dirname(path)}`);
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
