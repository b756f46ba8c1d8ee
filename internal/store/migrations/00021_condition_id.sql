-- Ids of a policy's conditions are never given again: what builds were told of
-- one stays true of it.

-- +goose Up

-- 0 where the policy never had a condition, or none since this is here: those it has count then.
ALTER TABLE policy ADD COLUMN last_condition BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE policy DROP COLUMN last_condition;
