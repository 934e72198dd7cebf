import { invalidRequest } from "../openapi/api-error.ts";
import type { UsageSum } from "../store/tables/usage.ts";

/** One page of time buckets. Buckets begin at multiples of their width since 1970 (days are UTC days). */
export interface BucketPage {
  /** Unix seconds of this page's rows: start inclusive, end exclusive. */
  start: number;
  end: number;
  width: number;
  /** Starts of the buckets in Unix seconds, ascending. */
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
  /** `next_page` of the previous page. */
  page: string | null;
}

const PAGE = /^page_(\d{1,12})$/;

/** Computes a page, with empty buckets too. Throws ApiError 400 for an unknown page token. */
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

/** Fills the buckets of a page. */
export function pageOf<Bucket>(
  { buckets, width, nextPage }: BucketPage,
  fill: (bucket: { object: "bucket"; start_time: number; end_time: number }) => Bucket,
) {
  return {
    object: "page" as const,
    data: buckets.map((start) => fill({ object: "bucket", start_time: start, end_time: start + width })),
    has_more: nextPage !== null,
    next_page: nextPage,
  };
}

/** Returns the sums of the bucket with the given start, in their order. */
export function byBucket(sums: readonly UsageSum[]): (start: number) => UsageSum[] {
  const buckets = new Map<number, UsageSum[]>();
  for (const sum of sums) {
    const known = buckets.get(sum.bucket);
    if (known === undefined) buckets.set(sum.bucket, [sum]);
    else known.push(sum);
  }
  return (start) => buckets.get(start) ?? [];
}

function pageStart(page: string): number {
  const match = PAGE.exec(page);
  if (match === null) throw unknownPage();
  return Number(match[1]);
}

function unknownPage() {
  return invalidRequest("invalid_value", "page", "Invalid 'page': use the next_page of a page of the same query.");
}
