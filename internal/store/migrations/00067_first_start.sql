-- What people chose while a deployment was set up. Where something was scanned before,
-- people know their way.

-- +goose Up
ALTER TABLE deployment ADD COLUMN start_left SMALLINT NOT NULL DEFAULT 0;           -- redoubt.FirstStart.Left
ALTER TABLE deployment ADD COLUMN start_blocks_nothing SMALLINT NOT NULL DEFAULT 0; -- redoubt.FirstStart.BlocksNothing

UPDATE deployment SET start_left = 1 WHERE EXISTS (SELECT 1 FROM scan s WHERE s.deployment_id = deployment.id);

-- +goose Down
ALTER TABLE deployment DROP COLUMN start_blocks_nothing;
ALTER TABLE deployment DROP COLUMN start_left;
