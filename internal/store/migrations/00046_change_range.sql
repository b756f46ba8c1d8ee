-- A change may be of several rows in a run of ids: an upload adds findings and lineages by
-- the thousand, whose ids follow each other.

-- +goose Up
ALTER TABLE change ADD COLUMN more BIGINT NOT NULL DEFAULT 0; -- how many ids behind id are meant too

-- +goose Down
DELETE FROM change;
UPDATE deployment SET pruned_version = version;
ALTER TABLE change DROP COLUMN more;
