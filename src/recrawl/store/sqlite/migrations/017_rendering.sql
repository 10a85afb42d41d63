-- What is known of a page that a browser shows, and how its last two states looked.
CREATE TABLE rendering (
    source INTEGER PRIMARY KEY REFERENCES sources ON DELETE CASCADE,
    record BLOB NOT NULL
);
CREATE TABLE screenshots (
    source INTEGER PRIMARY KEY REFERENCES sources ON DELETE CASCADE,
    record BLOB NOT NULL
);
