-- What the fetcher of a source wants to remember about it, in its own words.
ALTER TABLE sources ADD COLUMN memo TEXT NOT NULL DEFAULT '';
