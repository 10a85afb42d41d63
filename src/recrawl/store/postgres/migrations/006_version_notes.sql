-- Why a state of a page was kept that is no change: what is compared was changed by its owner.
ALTER TABLE versions ADD COLUMN note text NOT NULL DEFAULT '';
