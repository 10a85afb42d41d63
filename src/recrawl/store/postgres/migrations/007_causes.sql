-- Why a source or a host is held, in a word for programs, and a fingerprint of the settings that rests on.
ALTER TABLE progress ADD COLUMN held_cause text NOT NULL DEFAULT '';
ALTER TABLE progress ADD COLUMN held_under text NOT NULL DEFAULT '';
ALTER TABLE holds ADD COLUMN cause text NOT NULL DEFAULT '';
ALTER TABLE holds ADD COLUMN under text NOT NULL DEFAULT '';

-- What publishers ask for lasts as long as the document is the same: it has to be known for what it is.
UPDATE progress SET held_cause = 'publisher' WHERE held_by = 'the publisher asks to stay away';
UPDATE progress SET held_cause = 'server' WHERE held_by = 'the server asks to stay away';
