-- Programs that ask by the device flow wait beside scanners, within the same bounds.

-- +goose Up
ALTER TABLE login_request ADD COLUMN program_json TEXT NOT NULL DEFAULT ''; -- redoubt.LoginProgram; empty for a scanner

-- +goose Down
DELETE FROM login_request WHERE program_json <> '';
ALTER TABLE login_request DROP COLUMN program_json;
