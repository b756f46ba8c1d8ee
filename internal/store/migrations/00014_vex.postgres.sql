-- VEX: what documents say of vulnerabilities, which decides about findings that
-- are there and that come.

-- +goose Up

-- vex_document is a document that is held; a newer one of its name and scope
-- takes its place.
CREATE TABLE vex_document (
    deployment_id BIGINT NOT NULL,
    id            BIGINT NOT NULL,
    name          TEXT   NOT NULL, -- its own id: serial number, IRI, or the source that said it in an SBOM
    project_id    BIGINT NOT NULL, -- 0 is all that projects_json allows
    ref           TEXT   NOT NULL, -- '' is every ref
    projects_json TEXT   NOT NULL, -- globs; none is every project
    format        TEXT   NOT NULL,
    author        TEXT   NOT NULL,
    file          TEXT   NOT NULL, -- that it was read from
    version       BIGINT NOT NULL, -- 0 where it tells none
    issued_at     BIGINT,          -- NULL where it does not tell
    statements    BIGINT NOT NULL, -- how many
    received_at   BIGINT NOT NULL,
    received_by   TEXT   NOT NULL,
    PRIMARY KEY (deployment_id, id)
);
CREATE UNIQUE INDEX vex_document_name ON vex_document (deployment_id, project_id, ref, projects_json, name);

-- vex_statement is one thing that a document says.
CREATE TABLE vex_statement (
    deployment_id  BIGINT NOT NULL,
    document_id    BIGINT NOT NULL,
    place          BIGINT NOT NULL, -- in the document, from 0
    statement_json TEXT   NOT NULL, -- redoubt.VEXStatement
    PRIMARY KEY (deployment_id, document_id, place)
);

-- vex_name finds statements by each name of their vulnerability, in upper case.
CREATE TABLE vex_name (
    deployment_id BIGINT NOT NULL,
    name          TEXT   NOT NULL,
    document_id   BIGINT NOT NULL,
    place         BIGINT NOT NULL,
    PRIMARY KEY (deployment_id, name, document_id, place)
);

CREATE SEQUENCE vex_document_id_seq MAXVALUE 9007199254740991;

-- +goose Down
DROP SEQUENCE vex_document_id_seq;
DROP TABLE vex_name;
DROP TABLE vex_statement;
DROP TABLE vex_document;
