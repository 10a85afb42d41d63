-- What items say in full, where somebody wants to read it here: who wrote it, and sanitised HTML, compressed.
CREATE TABLE contents (
    item bigint PRIMARY KEY REFERENCES items ON DELETE CASCADE,
    author text NOT NULL,
    record bytea NOT NULL
);
ALTER TABLE contents ALTER COLUMN record SET STORAGE EXTERNAL;
