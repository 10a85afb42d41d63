-- What readers open. A client's name says nothing of who it was; it is empty for counts of others' logs, which are not
-- capped.
CREATE TABLE clicks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    item INTEGER NOT NULL REFERENCES items ON DELETE CASCADE,
    source INTEGER NOT NULL,
    at REAL NOT NULL,
    client TEXT NOT NULL,
    count INTEGER NOT NULL
);
CREATE INDEX clicks_on_item ON clicks (item, client);
CREATE INDEX clicks_of_source ON clicks (source, item, at, count);

-- When an owner asked for a crawl at once.
ALTER TABLE sources ADD COLUMN wanted REAL;

-- What was believed after each crawl.
ALTER TABLE crawls ADD COLUMN value REAL;
ALTER TABLE crawls ADD COLUMN value_sd REAL;
ALTER TABLE crawls ADD COLUMN rate REAL;
ALTER TABLE crawls ADD COLUMN rate_sd REAL;
