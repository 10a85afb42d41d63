-- Items whose pages are to be fetched once, for what they say in full; gone once they were, or have failed too often.
CREATE TABLE articles (
    item bigint PRIMARY KEY REFERENCES items ON DELETE CASCADE,
    due double precision NOT NULL,
    tries bigint NOT NULL
);
