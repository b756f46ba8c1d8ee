-- Since when replies decide, and what a job is about, so that one that waits takes in what comes later.

-- +goose Up
ALTER TABLE connection ADD COLUMN replies_at BIGINT; -- older replies decide nothing; null: all count, as before this was kept
ALTER TABLE job ADD COLUMN subject TEXT NOT NULL DEFAULT ''; -- empty: it is about something of its own

-- +goose Down
ALTER TABLE job DROP COLUMN subject;
ALTER TABLE connection DROP COLUMN replies_at;
