-- Items whose pages are to be fetched once, for what they say in full; gone once they were, or have failed too often.
CREATE TABLE articles (
    item INTEGER PRIMARY KEY REFERENCES items ON DELETE CASCADE,
    due REAL NOT NULL,
    tries INTEGER NOT NULL
);
