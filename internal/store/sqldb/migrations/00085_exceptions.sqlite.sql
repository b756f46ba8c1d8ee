-- Exceptions, requests for them and VEX documents are rows of one table. Requests get ids above
-- those of the exceptions, and documents ids above those.

-- +goose Up
ALTER TABLE exception ADD COLUMN state SMALLINT NOT NULL DEFAULT 2; -- redoubt.ExceptionState: 2 is active
ALTER TABLE exception ADD COLUMN project_id BIGINT NOT NULL DEFAULT 0; -- of the findings in exception_finding; 0: it has a target
ALTER TABLE exception ADD COLUMN wished_at BIGINT; -- the end that was asked for; NULL: none
ALTER TABLE exception ADD COLUMN creator_id BIGINT NOT NULL DEFAULT 0; -- user who asked; 0: no user did
ALTER TABLE exception ADD COLUMN created_by_json TEXT NOT NULL DEFAULT '{}';
ALTER TABLE exception ADD COLUMN decided_at BIGINT; -- when it got its state; NULL while requested
ALTER TABLE exception ADD COLUMN decided_by_json TEXT NOT NULL DEFAULT '{}';
ALTER TABLE exception ADD COLUMN answer TEXT NOT NULL DEFAULT '';
ALTER TABLE exception ADD COLUMN kind SMALLINT NOT NULL DEFAULT 1; -- 1: target is a rule or vulnerability; 2: exception_finding names findings; 3: a VEX document, target is its name
ALTER TABLE exception ADD COLUMN ref TEXT NOT NULL DEFAULT ''; -- of a document for one; '' is every ref
ALTER TABLE exception ADD COLUMN format TEXT NOT NULL DEFAULT '';
ALTER TABLE exception ADD COLUMN author TEXT NOT NULL DEFAULT '';
ALTER TABLE exception ADD COLUMN file TEXT NOT NULL DEFAULT ''; -- that the document was read from
ALTER TABLE exception ADD COLUMN version BIGINT NOT NULL DEFAULT 0; -- of the document; 0 where it has none
ALTER TABLE exception ADD COLUMN issued_at BIGINT; -- NULL where the document does not say
ALTER TABLE exception ADD COLUMN statements BIGINT NOT NULL DEFAULT 0; -- how many
ALTER TABLE exception ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0; -- of the statements
UPDATE exception SET created_by_json = CASE WHEN instr(created_by, ':') = 0 THEN '{"kind":' || json_quote(created_by) || '}'
    ELSE '{"kind":' || json_quote(substr(created_by, 1, instr(created_by, ':') - 1)) || ',"id":' || json_quote(substr(created_by, instr(created_by, ':') + 1)) || '}' END;
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
        created_at, created_by_json, creator_id, decided_at, decided_by_json, answer, kind)
    SELECT deployment_id, id + (SELECT COALESCE(MAX(id), 0) FROM exception), state, '', '[]', '[]', project_id, reason, triage_reason,
        CASE WHEN state = 2 THEN granted_at ELSE until_at END, until_at, asked_at, asked_by_json, asker_id, decided_at, decided_by_json, answer, 2
    FROM exception_request;
DROP TABLE exception_request_finding;
DROP TABLE exception_request;
UPDATE lineage SET triaged_by_json = '{"kind":"vex","id":"' || CAST(CAST(substr(triaged_by_json, 21, length(triaged_by_json) - 22) AS BIGINT) + (SELECT COALESCE(MAX(id), 0) FROM exception) AS TEXT) || '"}'
    WHERE triaged_by_json LIKE '{"kind":"vex","id":"%"}';
UPDATE triage_event SET actor_json = '{"kind":"vex","id":"' || CAST(CAST(substr(actor_json, 21, length(actor_json) - 22) AS BIGINT) + (SELECT COALESCE(MAX(id), 0) FROM exception) AS TEXT) || '"}'
    WHERE actor_json LIKE '{"kind":"vex","id":"%"}';
ALTER TABLE vex_statement RENAME TO exception_statement;
ALTER TABLE exception_statement RENAME COLUMN document_id TO exception_id;
UPDATE exception_statement SET exception_id = -(exception_id + (SELECT COALESCE(MAX(id), 0) FROM exception)); -- no id twice on the way
UPDATE exception_statement SET exception_id = -exception_id;
ALTER TABLE vex_name RENAME TO exception_name;
ALTER TABLE exception_name RENAME COLUMN document_id TO exception_id;
UPDATE exception_name SET exception_id = -(exception_id + (SELECT COALESCE(MAX(id), 0) FROM exception));
UPDATE exception_name SET exception_id = -exception_id;
ALTER TABLE vex_refusal RENAME TO exception_refusal;
INSERT INTO exception (deployment_id, id, state, target, paths_json, projects_json, project_id, reason, triage_reason,
        created_at, created_by_json, decided_at, decided_by_json, kind, ref, format, author, file, version, issued_at, statements, bytes)
    SELECT deployment_id, id + (SELECT COALESCE(MAX(id), 0) FROM exception), CASE WHEN proposed = 1 THEN 1 ELSE 2 END, name, '[]', projects_json, project_id, '', 0,
        received_at, by_json, CASE WHEN proposed = 1 THEN NULL ELSE received_at END, CASE WHEN proposed = 1 THEN '{}' ELSE by_json END,
        3, ref, format, author, file, version, issued_at, statements, bytes
    FROM (SELECT d.*, CASE WHEN instr(received_by, ':') = 0 THEN '{"kind":' || json_quote(received_by) || '}'
            ELSE '{"kind":' || json_quote(substr(received_by, 1, instr(received_by, ':') - 1)) || ',"id":' || json_quote(substr(received_by, instr(received_by, ':') + 1)) || '}' END AS by_json FROM vex_document d) d;
DROP TABLE vex_document;
CREATE UNIQUE INDEX exception_document ON exception (deployment_id, project_id, ref, projects_json, target, state) WHERE kind = 3 AND state <= 2;
UPDATE deployment SET open_requests = (SELECT COUNT(*) FROM exception e WHERE e.deployment_id = deployment.id AND e.state = 1);
CREATE INDEX exception_state ON exception (deployment_id, state, kind, id);
UPDATE sequence SET next = (SELECT COALESCE(MAX(id), 0) + 1 FROM exception) WHERE name = 'exception' AND next <= (SELECT COALESCE(MAX(id), 0) FROM exception);
ALTER TABLE exemption_mark RENAME TO exception_mark;
DELETE FROM sequence WHERE name = 'vex_document';
