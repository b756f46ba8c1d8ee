-- Which claim of a job is the newest, apart from how many of them count against it.

-- +goose Up
ALTER TABLE job ADD COLUMN claim BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE job DROP COLUMN claim;
