-- What is known of text on a page that changes at nearly every visit.
CREATE TABLE restless (
    source INTEGER PRIMARY KEY REFERENCES sources ON DELETE CASCADE,
    record BLOB NOT NULL
);
