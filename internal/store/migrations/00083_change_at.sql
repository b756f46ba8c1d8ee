-- Rows of the feed say when their commit ended, which replaces the times of change_time.
-- The settings told which programs opened the database, and which times readers were shown.

-- +goose Up
ALTER TABLE change ADD COLUMN at BIGINT; -- null: not known, of commits before this schema
DROP TABLE change_time;
DELETE FROM setting WHERE name IN ('programs', 'clock shown');

-- +goose Down
CREATE TABLE change_time (
    deployment_id BIGINT NOT NULL,
    at            BIGINT NOT NULL,
    version       BIGINT NOT NULL,
    PRIMARY KEY (deployment_id, at)
);
INSERT INTO change_time (deployment_id, at, version)
SELECT id, committed_at, -1 FROM deployment WHERE version > 0;
ALTER TABLE change DROP COLUMN at;
