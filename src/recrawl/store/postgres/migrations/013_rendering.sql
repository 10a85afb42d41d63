-- What is known of a page that a browser shows, and how its last two states looked.
CREATE TABLE rendering (
    source bigint PRIMARY KEY,
    record bytea NOT NULL
);
CREATE TABLE screenshots (
    source bigint PRIMARY KEY,
    record bytea NOT NULL
);
