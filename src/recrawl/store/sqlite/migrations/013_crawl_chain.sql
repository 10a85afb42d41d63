-- Crawls of one source are found from the latest back: its progress names that one, and each names the one before it
-- (0: none). An index of them by source cost every commit a page per crawl, and so did the reference to the source.
-- Crawls from before this step, copied or saved ones name none; they are in an index that others are not in.
ALTER TABLE progress ADD COLUMN crawl INTEGER NOT NULL DEFAULT 0;
CREATE TABLE crawls_anew (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,
    at REAL NOT NULL,
    outcome TEXT NOT NULL,
    status INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    size INTEGER NOT NULL,
    elapsed_s REAL,
    new INTEGER NOT NULL,
    censored INTEGER NOT NULL,
    captured REAL,
    "index" REAL,
    price REAL,
    error TEXT NOT NULL,
    value REAL,
    value_sd REAL,
    rate REAL,
    rate_sd REAL,
    before INTEGER
);
INSERT INTO crawls_anew SELECT
    id, source, at, outcome, status, requests, size, elapsed_s, new, censored, captured, "index", price, error,
    value, value_sd, rate, rate_sd, NULL
FROM crawls ORDER BY id;
DROP TABLE crawls;
ALTER TABLE crawls_anew RENAME TO crawls;
CREATE INDEX crawls_by_time ON crawls (at);
CREATE INDEX crawls_of_source ON crawls (source, at) WHERE before IS NULL;

-- One index with all that sources are listed by: along it by due, and through it, which is short, by the others.
DROP INDEX progress_by_last;
DROP INDEX progress_by_due;
DROP INDEX progress_by_value;
DROP INDEX progress_by_failures;
CREATE INDEX progress_by_due ON progress (due, last, value, failures);
