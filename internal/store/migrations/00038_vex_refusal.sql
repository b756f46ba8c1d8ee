-- What somebody refused of proposed VEX documents, so that the next build does not
-- propose it again.

-- +goose Up

-- vex_refusal is a statement, or a whole document, that was refused of a project.
CREATE TABLE vex_refusal (
    deployment_id BIGINT NOT NULL,
    project_id    BIGINT NOT NULL,
    statement     TEXT   NOT NULL, -- redoubt.VEXStatement.ID, or a hash over those of a document
    refused_at    BIGINT NOT NULL,
    PRIMARY KEY (deployment_id, project_id, statement)
);

CREATE INDEX vex_document_proposed ON vex_document (deployment_id, proposed, id);

-- +goose Down
DROP INDEX vex_document_proposed;
DROP TABLE vex_refusal;
