-- A match of several lines is known again by its first and last line when it was
-- edited within.

-- +goose Up

-- Zero where the match is of one line, or its lines were not told.
ALTER TABLE finding ADD COLUMN edge_hash BYTEA NOT NULL DEFAULT '\x00000000000000000000000000000000';

-- +goose Down
ALTER TABLE finding DROP COLUMN edge_hash;
