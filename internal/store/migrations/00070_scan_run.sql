-- Which managed run a scan is of: its token has a part in that alone.

-- +goose Up
ALTER TABLE scan ADD COLUMN run_id BIGINT NOT NULL DEFAULT 0; -- 0: of none, or from before this was kept

-- +goose Down
ALTER TABLE scan DROP COLUMN run_id;
