import type { Operation } from "./operation.ts";

const store = { "503": "The store does not work." };

/** What owners may spend, and their removal. */
export const ownerOperations: readonly Operation[] = [
  {
    method: "get",
    path: "/v1/nightshift/owners/:owner",
    id: "retrieveOwner",
    access: "usage",
    summary: "An owner's budget, and how much of it is spent. Others than administrators see their own alone.",
    response: "Owner",
    failures: { "404": "No such owner, or another one.", ...store },
  },
  {
    method: "patch",
    path: "/v1/nightshift/owners/:owner",
    id: "updateOwner",
    access: "admin",
    summary: "Change what all keys of an owner may spend together, from the next request on.",
    request: "UpdateOwnerRequest",
    response: "Owner",
    failures: {
      "400": "The request is not valid.",
      "404": "No owner can have this name.",
      "413": "The body is too large.",
      "415": "The body is not JSON.",
      ...store,
    },
  },
  {
    method: "delete",
    path: "/v1/nightshift/owners/:owner",
    id: "eraseOwner",
    access: "admin",
    summary: "Remove all that is stored of an owner; sums of usage by hour and day stay. It goes on after the answer.",
    response: "Owner",
    failures: {
      "404": "No owner can have this name.",
      "409": "The key that asks belongs to this owner.",
      ...store,
    },
  },
];
