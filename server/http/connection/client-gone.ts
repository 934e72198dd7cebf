/** The client disconnected: no answer can be sent. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";
}
