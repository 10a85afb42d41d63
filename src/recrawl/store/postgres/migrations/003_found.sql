-- The site in whose sitemap index a source was found; empty for those somebody added.
ALTER TABLE sources ADD COLUMN found_on text NOT NULL DEFAULT '';
CREATE INDEX sources_by_site ON sources (found_on) WHERE found_on <> '';
