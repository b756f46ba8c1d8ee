-- Exceptions that people ask for, and those that act, are rows of one table. Requests get ids
-- above those of the exceptions.

-- +goose Up
ALTER TABLE exception ADD COLUMN state SMALLINT NOT NULL DEFAULT 2; -- redoubt.ExceptionState: 2 is active
ALTER TABLE exception ADD COLUMN project_id BIGINT NOT NULL DEFAULT 0; -- of the findings in exception_finding; 0: it has a target
ALTER TABLE exception ADD COLUMN wished_at BIGINT; -- the end that was asked for; NULL: none
ALTER TABLE exception ADD COLUMN creator_id BIGINT NOT NULL DEFAULT 0; -- user who asked; 0: no user did
ALTER TABLE exception ADD COLUMN created_by_json TEXT NOT NULL DEFAULT '{}';
ALTER TABLE exception ADD COLUMN decided_at BIGINT; -- when it got its state; NULL while requested
ALTER TABLE exception ADD COLUMN decided_by_json TEXT NOT NULL DEFAULT '{}';
ALTER TABLE exception ADD COLUMN answer TEXT NOT NULL DEFAULT '';
UPDATE exception SET created_by_json = CASE WHEN strpos(created_by, ':') = 0 THEN '{"kind":' || to_json(created_by)::text || '}'
    ELSE '{"kind":' || to_json(split_part(created_by, ':', 1))::text || ',"id":' || to_json(substr(created_by, strpos(created_by, ':') + 1))::text || '}' END;
UPDATE exception SET decided_at = created_at, decided_by_json = created_by_json;
ALTER TABLE exception DROP COLUMN created_by;
CREATE TABLE exception_finding (
    deployment_id BIGINT NOT NULL REFERENCES deployment (id),
    exception_id  BIGINT NOT NULL,
    number        INT    NOT NULL, -- from 1
    lineage_id    BIGINT NOT NULL,
    PRIMARY KEY (deployment_id, exception_id, number)
);
CREATE INDEX exception_finding_lineage ON exception_finding (deployment_id, lineage_id);
INSERT INTO exception_finding (deployment_id, exception_id, number, lineage_id)
    SELECT deployment_id, request_id + (SELECT COALESCE(MAX(id), 0) FROM exception), number, lineage_id FROM exception_request_finding;
INSERT INTO exception (deployment_id, id, state, target, paths_json, projects_json, project_id, reason, triage_reason, until_at, wished_at,
        created_at, created_by_json, creator_id, decided_at, decided_by_json, answer)
    SELECT deployment_id, id + (SELECT COALESCE(MAX(id), 0) FROM exception), state, '', '[]', '[]', project_id, reason, triage_reason,
        CASE WHEN state = 2 THEN granted_at ELSE until_at END, until_at, asked_at, asked_by_json, asker_id, decided_at, decided_by_json, answer
    FROM exception_request;
DROP TABLE exception_request_finding;
DROP TABLE exception_request;
CREATE INDEX exception_state ON exception (deployment_id, state, id);
SELECT setval('exception_id_seq', GREATEST((SELECT last_value FROM exception_id_seq), (SELECT COALESCE(MAX(id), 1) FROM exception)));
ALTER TABLE exemption_mark RENAME TO exception_mark;
