-- Small things that programs keep under a name.
CREATE TABLE notes (name text PRIMARY KEY, text bytea NOT NULL);

-- Which part of the catalogue a source belongs to; NULL until somebody who knows has said so.
ALTER TABLE sources ADD COLUMN bucket integer;
CREATE INDEX sources_by_bucket ON sources (bucket, revision) WHERE bucket IS NOT NULL;
CREATE INDEX sources_unplaced ON sources (id) WHERE bucket IS NULL;

-- So that whoever has a bucket learns which sources left it.
CREATE TABLE strayed (source bigint, bucket integer, revision bigint NOT NULL, PRIMARY KEY (source, bucket));
CREATE INDEX strayed_by_revision ON strayed (revision);

-- Where a hold belongs, if that was said.
ALTER TABLE holds ADD COLUMN bucket integer;
CREATE INDEX holds_by_bucket ON holds (bucket);

-- With the epoch in a key, only a change of owner waits for batches (FOR KEY SHARE); renewals wait for nobody.
CREATE UNIQUE INDEX owners_by_epoch ON owners (scope, epoch);
ALTER TABLE owners SET (fillfactor = 50);
