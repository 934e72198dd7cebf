import type { Operation } from "./operation.ts";

const store = { "503": "The store is not available." };

/** Budgets of owners, and their erasure. */
export const ownerOperations: readonly Operation[] = [
  {
    method: "get",
    path: "/v1/nightshift/owners/:owner",
    id: "retrieveOwner",
    access: "usage",
    summary: "Retrieve an owner's budget and spending. Without the scope `admin`, only your own.",
    response: "Owner",
    failures: { "404": "No such owner, or not your own.", ...store },
  },
  {
    method: "patch",
    path: "/v1/nightshift/owners/:owner",
    id: "updateOwner",
    access: "admin",
    summary: "Change the budget that all keys of an owner share, from the next request on.",
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
    summary:
      "Erase all data of an owner; sums of usage by hour and day are kept. The erasure continues after the response.",
    response: "Owner",
    failures: {
      "404": "No owner can have this name.",
      "409": "The API key of the request belongs to this owner.",
      ...store,
    },
  },
];
