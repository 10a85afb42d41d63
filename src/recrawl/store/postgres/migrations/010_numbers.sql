-- The history of the number that is watched on a page.
CREATE TABLE numbers (
    source bigint PRIMARY KEY,
    record bytea NOT NULL
);
