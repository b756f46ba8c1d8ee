-- Since when a change request has its head: its own scan is waited for from then on.

-- +goose Up
ALTER TABLE change_request ADD COLUMN head_at BIGINT; -- when we heard of head_commit; null: before this was kept

-- +goose Down
ALTER TABLE change_request DROP COLUMN head_at;
