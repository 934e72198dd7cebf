import { chmod, lstat, stat, unlink } from "node:fs/promises";
import { connect, type Server } from "node:net";
import { dirname } from "node:path";

/** Owner and group may connect: the user of a proxy joins the group. */
const MODE = 0o660;
/** Permissions of all others, which the file never has. */
const OTHERS = 0o007;

/** Bytes of a path in sockaddr_un, without its final zero; Node would cut a longer one. */
const MOST_BYTES = process.platform === "linux" ? 107 : 103;

/** Listens on a Unix socket. A socket file that a killed process left is replaced, and nothing else. */
export async function listenOnPath(server: Server, path: string): Promise<void> {
  if (Buffer.byteLength(path) > MOST_BYTES) throw new Error(`the path is longer than ${MOST_BYTES} bytes`);
  // The system would take the text before it.
  if (path.includes("\0")) throw new Error("the path has a NUL character");
  // The system's own error would be "permission denied".
  const folder = await stat(dirname(path)).catch(() => null);
  if (!folder?.isDirectory()) throw new Error(`there is no folder ${dirname(path)}`);
  await makeRoom(path);
  await bind(server, path);
  await chmod(path, MODE);
}

/** A connection that is made before the mode is set outlives it, so that the file is made without permissions of others. */
function bind(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const mask = process.umask();
    process.umask(mask | OTHERS);
    try {
      server.once("error", reject);
      // Makes the file before it returns.
      server.listen(path, () => {
        server.off("error", reject);
        resolve();
      });
    } finally {
      process.umask(mask);
    }
  });
}

/** Removes the file of a socket on which no process listens. Throws where anything else is at the path. */
async function makeRoom(path: string): Promise<void> {
  const stats = await lstat(path).catch(() => null);
  if (stats === null) return;
  if (!stats.isSocket()) throw new Error("there is a file, folder or link. Choose another path, or remove it");
  // The file of a socket in use must stay: its process would remove that of its successor when it ends.
  if (!(await isStale(path))) throw new Error("another process listens there. Choose another path, or stop it first");
  await unlink(path);
}

function isStale(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(false);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"));
  });
}
