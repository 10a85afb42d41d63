-- What others say has changed, until the crawler has learned from it. Where `proof` is not empty, it names the file by
-- which somebody may say so, and the file has not been seen yet.
-- Of a source one waits per sender and proof: strangers choose proofs.
CREATE TABLE signals (
    id bigint PRIMARY KEY,
    source bigint NOT NULL,
    at double precision NOT NULL,
    came double precision NOT NULL,
    by text NOT NULL,
    proof text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX signals_of_source ON signals (source, by, proof);
CREATE INDEX signals_by_proof ON signals (proof, id);
CREATE INDEX signals_unproven ON signals (came) WHERE proof > '';
INSERT INTO counters VALUES ('signals', 0);

-- Subscriptions at hubs. One outlives its source until the hub has been told, by whoever has the source's last bucket.
CREATE TABLE subscriptions (
    token text PRIMARY KEY,
    source bigint NOT NULL,
    hub text NOT NULL,
    topic text NOT NULL,
    secret text NOT NULL,
    mode text NOT NULL,
    asked double precision NOT NULL,
    tries bigint NOT NULL,
    confirmed double precision NOT NULL,
    until double precision NOT NULL,
    due double precision NOT NULL,
    delivered double precision NOT NULL,
    note text NOT NULL,
    bucket integer
);
CREATE INDEX subscriptions_by_due ON subscriptions (due);
CREATE INDEX subscriptions_of_source ON subscriptions (source);
