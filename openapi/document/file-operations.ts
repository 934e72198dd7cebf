import { fileListQuery } from "../resources/files.ts";
import type { Operation } from "./operation.ts";

const storageFailures = {
  "400": "The request is not valid.",
  "413": "It is too large.",
  "415": "The body is of another type, or compressed.",
  "503": "The store does not work.",
  "507": "No room: on the disk, or in your quota.",
};

const fileFailures = { "404": "No such file.", "503": "The store does not work." };

/** Files, whole and in parts. */
export const fileOperations: readonly Operation[] = [
  {
    method: "post",
    path: "/v1/files",
    id: "createFile",
    access: "batches",
    summary: "Upload a file. Answered when it is durable.",
    form: "CreateFileForm",
    response: "File",
    failures: { ...storageFailures, "408": "The body comes too slowly." },
  },
  {
    method: "get",
    path: "/v1/files",
    id: "listFiles",
    access: "batches",
    summary: "Your files, the newest first.",
    query: fileListQuery,
    response: "FileList",
    failures: { "400": "The query is not valid, or `after` names no file.", "503": "The store does not work." },
  },
  {
    method: "get",
    path: "/v1/files/:file",
    id: "retrieveFile",
    access: "batches",
    summary: "One file.",
    response: "File",
    failures: fileFailures,
  },
  {
    method: "delete",
    path: "/v1/files/:file",
    id: "deleteFile",
    access: "batches",
    summary: "Delete a file, and every copy of it.",
    response: "FileDeleted",
    failures: { ...fileFailures, "409": "A batch that is not over reads the file." },
  },
  {
    method: "get",
    path: "/v1/files/:file/content",
    id: "downloadFile",
    access: "batches",
    summary: "The bytes of a file, whole or a range.",
    response: "bytes",
    failures: { ...fileFailures, "416": "The range lies outside of the file." },
  },
  {
    method: "post",
    path: "/v1/uploads",
    id: "createUpload",
    access: "batches",
    summary: "Begin a file that comes in parts, within an hour.",
    request: "CreateUploadRequest",
    response: "Upload",
    failures: storageFailures,
  },
  {
    method: "post",
    path: "/v1/uploads/:upload/parts",
    id: "addUploadPart",
    access: "batches",
    summary: "Add a part; parts may come side by side and in any order.",
    form: "AddUploadPartForm",
    response: "UploadPart",
    failures: { ...storageFailures, "404": "No such upload.", "408": "The body comes too slowly." },
  },
  {
    method: "post",
    path: "/v1/uploads/:upload/complete",
    id: "completeUpload",
    access: "batches",
    summary: "Put the parts together, in the given order, as a file. A repeated call gets the same file.",
    request: "CompleteUploadRequest",
    response: "Upload",
    failures: { ...storageFailures, "404": "No such upload." },
  },
  {
    method: "post",
    path: "/v1/uploads/:upload/cancel",
    id: "cancelUpload",
    access: "batches",
    summary: "Give an upload up.",
    response: "Upload",
    failures: {
      "400": "The upload is completed or expired.",
      "404": "No such upload.",
      "503": "The store does not work.",
    },
  },
];
