-- What others say has changed, until the crawler has learned from it. Where `proof` is not empty, it names the file by
-- which somebody may say so, and the file has not been seen yet.
-- Of a source one waits per sender and proof: strangers choose proofs.
CREATE TABLE signals (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    source INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
    at REAL NOT NULL,
    came REAL NOT NULL,
    by TEXT NOT NULL,
    proof TEXT NOT NULL
);
CREATE UNIQUE INDEX signals_of_source ON signals (source, by, proof);
CREATE INDEX signals_by_proof ON signals (proof, id);
CREATE INDEX signals_unproven ON signals (came) WHERE proof > '';

-- Subscriptions at hubs. One outlives its source until the hub has been told.
CREATE TABLE subscriptions (
    token TEXT PRIMARY KEY,
    source INTEGER NOT NULL,
    hub TEXT NOT NULL,
    topic TEXT NOT NULL,
    secret TEXT NOT NULL,
    mode TEXT NOT NULL,
    asked REAL NOT NULL,
    tries INTEGER NOT NULL,
    confirmed REAL NOT NULL,
    until REAL NOT NULL,
    due REAL NOT NULL,
    delivered REAL NOT NULL,
    note TEXT NOT NULL
);
CREATE INDEX subscriptions_by_due ON subscriptions (due);
CREATE INDEX subscriptions_of_source ON subscriptions (source);
