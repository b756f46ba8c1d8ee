-- Jobs that have ended are forgotten in the order in which they did.

-- +goose Up
CREATE INDEX job_finished ON job (deployment_id, kind, finished_at) WHERE finished_at IS NOT NULL;

-- +goose Down
DROP INDEX job_finished;
