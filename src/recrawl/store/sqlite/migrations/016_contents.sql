-- What items say in full, where somebody wants to read it here: who wrote it, and sanitised HTML, compressed.
CREATE TABLE contents (
    item INTEGER PRIMARY KEY REFERENCES items ON DELETE CASCADE,
    author TEXT NOT NULL,
    record BLOB NOT NULL
);
