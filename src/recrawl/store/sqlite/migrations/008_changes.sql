-- What was found is an item or a change of a page; changes can be listed alone.
ALTER TABLE items ADD COLUMN kind TEXT NOT NULL DEFAULT 'item';
CREATE INDEX items_that_are_changes ON items (first_seen) WHERE kind = 'change';

-- Changes seen so far, found by the lines that are new in them: those of the difference that begin with a plus.
INSERT OR IGNORE INTO items (source, key, title, link, summary, first_seen, kind)
SELECT versions.source, -versions.id, sources.title, sources.url, coalesce((
    SELECT group_concat(substr(value, 2), char(10))
    FROM json_each('[' || replace(json_quote(replace(versions.diff, '\', '/')), '\n', '","') || ']')
    WHERE value LIKE '+%'
), ''), versions.at, 'change'
FROM versions JOIN sources ON sources.id = versions.source WHERE versions.diff <> '' ORDER BY versions.at, versions.id;
INSERT INTO items_text (rowid, title, summary) SELECT id, title, summary FROM items WHERE kind = 'change';
