-- Those who read with programs of their own. The password is kept as a slow, salted hash; with `key` tokens are signed.
CREATE TABLE readers (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    password TEXT NOT NULL,
    key TEXT NOT NULL,
    added REAL NOT NULL
);

-- What each reads. Labels are JSON, empty where there are none. Items of the source up to number `read_to` are read but
-- for what `reader_items` says, and whatever has a larger number was found after `read_since`.
CREATE TABLE reader_sources (
    reader INTEGER NOT NULL REFERENCES readers ON DELETE CASCADE,
    source INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
    title TEXT NOT NULL,
    labels TEXT NOT NULL,
    added REAL NOT NULL,
    read_to INTEGER NOT NULL,
    read_since REAL NOT NULL,
    PRIMARY KEY (reader, source)
);
CREATE INDEX reader_sources_of_source ON reader_sources (source);

-- What each did with single items. `read` is NULL where `read_to` tells; `starred` is when, NULL for not.
CREATE TABLE reader_items (
    reader INTEGER NOT NULL REFERENCES readers ON DELETE CASCADE,
    item INTEGER NOT NULL REFERENCES items ON DELETE CASCADE,
    source INTEGER NOT NULL,
    read INTEGER,
    starred REAL,
    PRIMARY KEY (reader, item)
);
CREATE INDEX reader_items_of_item ON reader_items (item);
CREATE INDEX reader_items_of_source ON reader_items (reader, source, item, read);
CREATE INDEX reader_items_unread ON reader_items (reader, item) WHERE read = 0;
CREATE INDEX reader_items_starred ON reader_items (reader, item) WHERE starred IS NOT NULL;
CREATE TABLE reader_labels (
    reader INTEGER NOT NULL REFERENCES readers ON DELETE CASCADE,
    item INTEGER NOT NULL REFERENCES items ON DELETE CASCADE,
    label TEXT NOT NULL,
    PRIMARY KEY (reader, label, item)
);
CREATE INDEX reader_labels_of_item ON reader_labels (item, reader);

-- Sources that came with a reader and that nobody else asked for: they go with the last who reads them.
CREATE TABLE brought (source INTEGER PRIMARY KEY REFERENCES sources ON DELETE CASCADE, reader INTEGER NOT NULL);

-- Items in the order of their numbers, with all that says whose they are; written at its end alone.
CREATE INDEX items_by_number ON items (id, source, first_seen);
