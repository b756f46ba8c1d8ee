-- Scans count in the order in which they were applied. Their ids tell when they
-- began, and scanners that begin one after the other end as they like.

-- +goose Up
ALTER TABLE scan ADD COLUMN applied_at BIGINT NOT NULL DEFAULT 0; -- the commit's clock, rising; of scans before this column their id, which is less; 0 when not applied
UPDATE scan SET applied_at = id WHERE outcome = 1; -- which is applied
DROP INDEX scan_stream;
CREATE INDEX scan_stream ON scan (deployment_id, project_id, ref, source, outcome, applied_at);

-- +goose Down
DROP INDEX scan_stream;
CREATE INDEX scan_stream ON scan (deployment_id, project_id, ref, source, outcome, id);
ALTER TABLE scan DROP COLUMN applied_at;
