-- A document that somebody sent who may not triage is proposed: it is held
-- beside the one that counts, and decides nothing until it is accepted.

-- +goose Up

ALTER TABLE vex_document ADD COLUMN proposed SMALLINT NOT NULL DEFAULT 0;
DROP INDEX vex_document_name;
CREATE UNIQUE INDEX vex_document_name ON vex_document (deployment_id, project_id, ref, projects_json, name, proposed);

-- +goose Down
DELETE FROM vex_name WHERE EXISTS (SELECT 1 FROM vex_document d WHERE d.deployment_id = vex_name.deployment_id AND d.id = vex_name.document_id AND d.proposed = 1);
DELETE FROM vex_statement WHERE EXISTS (SELECT 1 FROM vex_document d WHERE d.deployment_id = vex_statement.deployment_id AND d.id = vex_statement.document_id AND d.proposed = 1);
DELETE FROM vex_document WHERE proposed = 1;
DROP INDEX vex_document_name;
CREATE UNIQUE INDEX vex_document_name ON vex_document (deployment_id, project_id, ref, projects_json, name);
ALTER TABLE vex_document DROP COLUMN proposed;
