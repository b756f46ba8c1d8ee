-- How many days a policy gives findings, and when decisions stopped the clock of these.

-- +goose Up
ALTER TABLE policy ADD COLUMN due_json TEXT NOT NULL DEFAULT '{}'; -- redoubt.DueDays
ALTER TABLE lineage ADD COLUMN stops TEXT NOT NULL DEFAULT '';     -- redoubt.Stops

UPDATE lineage SET stops = CAST(triaged_at AS TEXT) || '-' WHERE triage_state = 2 AND triaged_at IS NOT NULL;

-- +goose Down
ALTER TABLE lineage DROP COLUMN stops;
ALTER TABLE policy DROP COLUMN due_json;
