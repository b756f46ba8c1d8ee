-- What documents say is bounded where uploads alone propose it: by its size too, since
-- a statement is as long as its author likes.

-- +goose Up
ALTER TABLE vex_document ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0; -- of its statements; of those before this column, characters
UPDATE vex_document SET bytes = COALESCE((
    SELECT SUM(LENGTH(s.statement_json)) FROM vex_statement s WHERE s.deployment_id = vex_document.deployment_id AND s.document_id = vex_document.id), 0);

-- +goose Down
ALTER TABLE vex_document DROP COLUMN bytes;
