import { fileListQuery } from "../resources/files.ts";
import type { Operation } from "./operation.ts";

const storageFailures = {
  "400": "The request is not valid.",
  "413": "The body or the file is too large.",
  "415": "The type or encoding of the body is not supported.",
  "503": "The store is not available.",
  "507": "The disk is full, or your storage quota is used up.",
};

const fileFailures = { "404": "No such file.", "503": "The store is not available." };

/** Files, and uploads in parts. */
export const fileOperations: readonly Operation[] = [
  {
    method: "post",
    path: "/v1/files",
    id: "createFile",
    access: "batches",
    summary: "Upload a file. The response is sent when the file is durable.",
    form: "CreateFileForm",
    response: "File",
    failures: { ...storageFailures, "408": "The body arrives too slowly." },
  },
  {
    method: "get",
    path: "/v1/files",
    id: "listFiles",
    access: "batches",
    summary: "List your files, newest first.",
    query: fileListQuery,
    response: "FileList",
    failures: { "400": "The query is not valid, or `after` names no file.", "503": "The store is not available." },
  },
  {
    method: "get",
    path: "/v1/files/:file",
    id: "retrieveFile",
    access: "batches",
    summary: "Retrieve a file.",
    response: "File",
    failures: fileFailures,
  },
  {
    method: "delete",
    path: "/v1/files/:file",
    id: "deleteFile",
    access: "batches",
    summary: "Delete a file, with its content.",
    response: "FileDeleted",
    failures: { ...fileFailures, "409": "The file is the input of a batch that has not ended." },
  },
  {
    method: "get",
    path: "/v1/files/:file/content",
    id: "downloadFile",
    access: "batches",
    summary: "Download a file, or a range of it.",
    response: "bytes",
    failures: { ...fileFailures, "416": "The range lies outside of the file." },
  },
  {
    method: "post",
    path: "/v1/uploads",
    id: "createUpload",
    access: "batches",
    summary: "Create an upload in parts. It expires after an hour.",
    request: "CreateUploadRequest",
    response: "Upload",
    failures: storageFailures,
  },
  {
    method: "post",
    path: "/v1/uploads/:upload/parts",
    id: "addUploadPart",
    access: "batches",
    summary: "Add a part. Parts may be sent concurrently and in any order.",
    form: "AddUploadPartForm",
    response: "UploadPart",
    failures: { ...storageFailures, "404": "No such upload.", "408": "The body arrives too slowly." },
  },
  {
    method: "post",
    path: "/v1/uploads/:upload/complete",
    id: "completeUpload",
    access: "batches",
    summary: "Join the parts, in the given order, to a file. A repeated call returns the same file.",
    request: "CompleteUploadRequest",
    response: "Upload",
    failures: { ...storageFailures, "404": "No such upload." },
  },
  {
    method: "post",
    path: "/v1/uploads/:upload/cancel",
    id: "cancelUpload",
    access: "batches",
    summary: "Cancel an upload.",
    response: "Upload",
    failures: {
      "400": "The upload is completed or expired.",
      "404": "No such upload.",
      "503": "The store is not available.",
    },
  },
];
