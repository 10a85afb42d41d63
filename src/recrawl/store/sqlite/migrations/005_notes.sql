-- Small things that programs keep under a name.
CREATE TABLE notes (name TEXT PRIMARY KEY, text BLOB NOT NULL);
