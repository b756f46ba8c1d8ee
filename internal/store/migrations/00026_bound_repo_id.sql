-- An id that a token bound to projects tells of a repository counts among tokens
-- of the same projects alone, so it is kept beside the repository's own.

-- +goose Up

-- A hash of the token's globs and the id, empty where none was told.
ALTER TABLE project ADD COLUMN bound_repo_id TEXT NOT NULL DEFAULT '';
CREATE INDEX project_bound_repo_id ON project (deployment_id, bound_repo_id);

-- +goose Down
DROP INDEX project_bound_repo_id;
ALTER TABLE project DROP COLUMN bound_repo_id;
