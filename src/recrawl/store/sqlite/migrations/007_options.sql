-- What else its owner said of a source, as a JSON object; empty for nothing.
ALTER TABLE sources ADD COLUMN options TEXT NOT NULL DEFAULT '';
