CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO meta VALUES ('revision', 0);

-- The catalogue. Tags and headers are JSON, empty where there are none.
CREATE TABLE sources (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    url TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    importance REAL,
    half_life REAL,
    max_age REAL,
    cost REAL,
    tags TEXT NOT NULL,
    headers TEXT NOT NULL,
    "select" TEXT NOT NULL,
    state TEXT NOT NULL,
    note TEXT NOT NULL,
    added REAL,
    revision INTEGER NOT NULL
);
CREATE INDEX sources_by_revision ON sources (revision);
CREATE INDEX sources_by_state ON sources (state);
CREATE INDEX sources_by_title ON sources (title COLLATE NOCASE);
CREATE INDEX sources_by_importance ON sources (importance);
CREATE INDEX sources_by_added ON sources (added);

-- The same tags once more, to find sources by them.
CREATE TABLE tags (
    tag TEXT NOT NULL,
    source INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
    PRIMARY KEY (tag, source)
) WITHOUT ROWID;
CREATE INDEX tags_by_source ON tags (source);

-- So that a running crawler learns of removals.
CREATE TABLE removed (source INTEGER PRIMARY KEY, revision INTEGER NOT NULL);
CREATE INDEX removed_by_revision ON removed (revision);

-- Exactly one row per source, from the moment it is added. NULL stands for NaN.
CREATE TABLE progress (
    source INTEGER PRIMARY KEY REFERENCES sources ON DELETE CASCADE,
    last REAL,
    visits INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    held_until REAL DEFAULT 0.0,
    held_by TEXT NOT NULL DEFAULT '',
    etag TEXT NOT NULL DEFAULT '',
    modified TEXT NOT NULL DEFAULT '',
    digest TEXT NOT NULL DEFAULT '',
    listing BLOB NOT NULL DEFAULT x'',
    moved_to TEXT NOT NULL DEFAULT '',
    moved_seen INTEGER NOT NULL DEFAULT 0,
    value REAL,
    value_sd REAL,
    rate REAL,
    rate_sd REAL,
    due REAL,
    captured REAL DEFAULT 0.0,
    belief BLOB NOT NULL DEFAULT x''
);
CREATE INDEX progress_by_last ON progress (last);
CREATE INDEX progress_by_due ON progress (due);
CREATE INDEX progress_by_value ON progress (value);
CREATE INDEX progress_by_failures ON progress (failures);

CREATE TABLE crawls (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
    at REAL NOT NULL,
    outcome TEXT NOT NULL,
    status INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    size INTEGER NOT NULL,
    elapsed_s REAL,
    new INTEGER NOT NULL,
    censored INTEGER NOT NULL,
    captured REAL,
    "index" REAL,
    price REAL,
    error TEXT NOT NULL
);
CREATE INDEX crawls_by_time ON crawls (at);
CREATE INDEX crawls_of_source ON crawls (source, at);

CREATE TABLE items (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    source INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
    key INTEGER NOT NULL,
    title TEXT NOT NULL,
    link TEXT NOT NULL,
    summary TEXT NOT NULL,
    published REAL,
    first_seen REAL NOT NULL
);
CREATE UNIQUE INDEX items_by_key ON items (source, key);
CREATE INDEX items_by_sight ON items (first_seen);
CREATE INDEX items_of_source ON items (source, first_seen);
CREATE INDEX items_by_publication ON items (coalesce(published, first_seen));

CREATE VIRTUAL TABLE items_text USING fts5 (
    title, summary, content = 'items', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TRIGGER items_leave_search AFTER DELETE ON items BEGIN
    INSERT INTO items_text (items_text, rowid, title, summary) VALUES ('delete', old.id, old.title, old.summary);
END;

-- Keys of items dropped by retention while their source still listed them: known, though nothing else is.
CREATE TABLE dropped (
    source INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
    key INTEGER NOT NULL,
    PRIMARY KEY (source, key)
) WITHOUT ROWID;

CREATE TABLE versions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    source INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
    at REAL NOT NULL,
    digest TEXT NOT NULL,
    text TEXT NOT NULL,
    diff TEXT NOT NULL
);
CREATE INDEX versions_of_source ON versions (source, at);
CREATE INDEX versions_by_time ON versions (at);

CREATE TABLE holds (host TEXT PRIMARY KEY, until REAL, reason TEXT NOT NULL, failures INTEGER NOT NULL);

CREATE TABLE robots (
    origin TEXT PRIMARY KEY,
    fetched REAL,
    status INTEGER NOT NULL,
    body TEXT NOT NULL,
    expires REAL,
    good TEXT
);

CREATE TABLE prices (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    price REAL,
    budget REAL,
    requests INTEGER NOT NULL,
    captured REAL,
    errors INTEGER NOT NULL
);
CREATE INDEX prices_by_time ON prices (at);

CREATE TABLE events (seq INTEGER PRIMARY KEY AUTOINCREMENT, at REAL, body BLOB NOT NULL);
CREATE TABLE outlets (name TEXT PRIMARY KEY, seq INTEGER NOT NULL);
