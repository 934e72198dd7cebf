import { invalidRequest } from "../openapi/api-error.ts";

/** Time cut into buckets that begin at whole multiples of their width since 1970 (days are UTC days). */
export interface BucketPage {
  /** Unix seconds: the rows of this page, from, inclusive, to, exclusive. */
  start: number;
  end: number;
  width: number;
  /** Starts of the buckets, ascending. */
  buckets: number[];
  nextPage: string | null;
}

export interface BucketRequest {
  startTime: number;
  /** Exclusive. */
  endTime: number;
  /** Seconds. */
  width: number;
  /** Buckets per page, 1 or more. */
  limit: number;
  /** `next_page` of the page before. */
  page: string | null;
}

const PAGE = /^page_(\d{1,12})$/;

/** Throws ApiError 400 for a page that this never gave out. Buckets that nothing happened in are there too. */
export function bucketPage({ startTime, endTime, width, limit, page }: BucketRequest): BucketPage {
  const first = startTime - (startTime % width);
  const from = page === null ? first : pageStart(page);
  if (from < first || (from - first) % width !== 0 || (page !== null && from >= endTime)) throw unknownPage();
  const last = Math.min(endTime, from + width * limit);
  const buckets: number[] = [];
  for (let bucket = from; bucket < last; bucket += width) buckets.push(bucket);
  const next = from + width * limit;
  return {
    start: Math.max(startTime, from),
    end: last,
    width,
    buckets,
    nextPage: next < endTime ? `page_${next}` : null,
  };
}

function pageStart(page: string): number {
  const match = PAGE.exec(page);
  if (match === null) throw unknownPage();
  return Number(match[1]);
}

function unknownPage() {
  return invalidRequest("invalid_value", "page", "Invalid 'page': use the next_page of a page of the same query.");
}
