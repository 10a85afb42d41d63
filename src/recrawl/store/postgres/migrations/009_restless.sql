-- What is known of text on a page that changes at nearly every visit.
CREATE TABLE restless (
    source bigint PRIMARY KEY,
    record bytea NOT NULL
);
