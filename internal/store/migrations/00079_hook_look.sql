-- What a look at a repository's webhook at its host found.

-- +goose Up
ALTER TABLE repository ADD COLUMN hook_lacks TEXT NOT NULL DEFAULT ''; -- what is wrong with it there, for people; empty: nothing
ALTER TABLE repository ADD COLUMN hook_looked_at BIGINT;               -- null: never

-- +goose Down
ALTER TABLE repository DROP COLUMN hook_looked_at;
ALTER TABLE repository DROP COLUMN hook_lacks;
