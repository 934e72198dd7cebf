import { connect, type Socket } from "node:net";

/** Opens a connection, writes, and resolves with all that came until the server closed it. */
export function exchange(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    let received = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(text));
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      received += chunk;
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(received));
  });
}

export function openSocket(port: number, text: string): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(text, () => resolve(socket)));
    socket.on("error", () => {});
  });
}

export function rawPost(path: string, headers: string[], body = ""): string {
  return [`POST ${path} HTTP/1.1`, "Host: localhost", ...headers, "", body].join("\r\n");
}
