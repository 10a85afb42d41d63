-- Why a source or a host is held, in a word for programs, and a fingerprint of the settings that rests on.
ALTER TABLE progress ADD COLUMN held_cause text NOT NULL DEFAULT '';
ALTER TABLE progress ADD COLUMN held_under text NOT NULL DEFAULT '';
ALTER TABLE holds ADD COLUMN cause text NOT NULL DEFAULT '';
ALTER TABLE holds ADD COLUMN under text NOT NULL DEFAULT '';
