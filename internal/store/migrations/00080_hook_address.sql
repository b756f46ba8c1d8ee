-- Which address a repository's webhook was made to tell.

-- +goose Up
ALTER TABLE repository ADD COLUMN hook_address TEXT NOT NULL DEFAULT ''; -- empty: none, or made before this was kept and not looked at since

-- +goose Down
ALTER TABLE repository DROP COLUMN hook_address;
