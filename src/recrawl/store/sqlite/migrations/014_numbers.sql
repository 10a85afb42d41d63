-- The history of the number that is watched on a page.
CREATE TABLE numbers (
    source INTEGER PRIMARY KEY REFERENCES sources ON DELETE CASCADE,
    record BLOB NOT NULL
);
