/** The client went away before its request was whole: there is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";
}
