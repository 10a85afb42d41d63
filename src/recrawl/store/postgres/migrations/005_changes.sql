-- What was found is an item or a change of a page; changes can be listed alone.
ALTER TABLE items ADD COLUMN kind text NOT NULL DEFAULT 'item';
CREATE INDEX items_that_are_changes ON items (first_seen, id) WHERE kind = 'change';

-- Changes seen so far, found by the lines that are new in them: those of the difference that begin with a plus.
INSERT INTO items (source, key, title, link, summary, first_seen, kind, words)
SELECT versions.source, -versions.id, sources.title, sources.url, added.lines, versions.at, 'change',
    setweight(to_tsvector('simple', regexp_replace(sources.title, '[^[:alnum:]]+', ' ', 'g')), 'A')
    || to_tsvector('simple', regexp_replace(added.lines, '[^[:alnum:]]+', ' ', 'g'))
FROM versions JOIN sources ON sources.id = versions.source, LATERAL (
    SELECT coalesce(string_agg(substr(line, 2), E'\n' ORDER BY place), '') AS lines
    FROM unnest(string_to_array(versions.diff, E'\n')) WITH ORDINALITY AS of_diff (line, place) WHERE line LIKE '+%'
) AS added
WHERE versions.diff <> '' ORDER BY versions.at, versions.id
ON CONFLICT (source, key) DO NOTHING;
