-- Whose grants are, so that one person cannot fill the table, and so that all of
-- them end with the person's role.

-- +goose Up

-- Id of the user; 0 of a code that was not exchanged when this column came, for a minute.
ALTER TABLE oauth_grant ADD COLUMN user_id BIGINT NOT NULL DEFAULT 0;
CREATE INDEX oauth_grant_user ON oauth_grant (deployment_id, user_id);

-- A token that is revoked or gone is renewed by nobody.
DELETE FROM oauth_grant WHERE token_id > 0 AND NOT EXISTS (
    SELECT 1 FROM token t WHERE t.deployment_id = oauth_grant.deployment_id AND t.id = oauth_grant.token_id AND t.revoked_at IS NULL);
UPDATE oauth_grant SET user_id = COALESCE((
    SELECT t.user_id FROM token t WHERE t.deployment_id = oauth_grant.deployment_id AND t.id = oauth_grant.token_id), 0);

-- +goose Down
DROP INDEX oauth_grant_user;
ALTER TABLE oauth_grant DROP COLUMN user_id;
