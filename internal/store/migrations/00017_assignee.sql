-- Whose finding it is, and until when a decision holds.

-- +goose Up

ALTER TABLE lineage ADD COLUMN triage_until BIGINT;                   -- NULL: for ever
ALTER TABLE lineage ADD COLUMN assignee     TEXT NOT NULL DEFAULT ''; -- name of a user; empty: nobody

-- lineage_until finds the decisions whose time is over.
CREATE INDEX lineage_until ON lineage (deployment_id, triage_until) WHERE triage_until IS NOT NULL;

-- +goose Down
DROP INDEX lineage_until;
ALTER TABLE lineage DROP COLUMN assignee;
ALTER TABLE lineage DROP COLUMN triage_until;
