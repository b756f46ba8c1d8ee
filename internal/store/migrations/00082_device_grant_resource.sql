-- Programs of the device flow use the whole server. Their grants were for its operation for
-- assistants, as a default that no program chose.

-- +goose Up
UPDATE oauth_grant SET resource = SUBSTR(resource, 1, LENGTH(resource) - 4) WHERE redirect_uri = '' AND resource LIKE '%/mcp';

-- +goose Down
