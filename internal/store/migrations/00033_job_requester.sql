-- Who asked for a job, so that what one may have waiting and kept is bounded.

-- +goose Up

-- Kind and id of the actor, as token:7; empty for work that nobody asked for.
ALTER TABLE job ADD COLUMN requester TEXT NOT NULL DEFAULT '';
CREATE INDEX job_kind ON job (deployment_id, kind, requester);

-- +goose Down
DROP INDEX job_kind;
ALTER TABLE job DROP COLUMN requester;
