-- What the branch that is scanned on push had as its newest commit, and when a repository was asked for news last.

-- +goose Up
ALTER TABLE repository ADD COLUMN head_branch TEXT NOT NULL DEFAULT ''; -- without refs/heads/; empty: none was looked at
ALTER TABLE repository ADD COLUMN head_commit TEXT NOT NULL DEFAULT '';
ALTER TABLE repository ADD COLUMN polled_at BIGINT; -- null: never

-- +goose Down
ALTER TABLE repository DROP COLUMN polled_at;
ALTER TABLE repository DROP COLUMN head_commit;
ALTER TABLE repository DROP COLUMN head_branch;
