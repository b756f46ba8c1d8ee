-- Exceptions that people ask for, and what became of them.

-- +goose Up
CREATE TABLE exception_request (
    deployment_id   BIGINT   NOT NULL REFERENCES deployment (id),
    id              BIGINT   NOT NULL, -- of the sequence of connection
    project_id      BIGINT   NOT NULL,
    state           SMALLINT NOT NULL, -- redoubt.ExceptionRequestState
    reason          TEXT     NOT NULL,
    triage_reason   SMALLINT NOT NULL, -- redoubt.TriageReason
    until_at        BIGINT,            -- the end that is wished; NULL: none
    asked_at        BIGINT   NOT NULL,
    asked_by_json   TEXT     NOT NULL,
    asker_id        BIGINT   NOT NULL, -- user; 0: no user asked
    decided_at      BIGINT,
    decided_by_json TEXT     NOT NULL,
    answer          TEXT     NOT NULL,
    granted_at      BIGINT,            -- when what was approved ends; NULL: never
    PRIMARY KEY (deployment_id, id)
);
CREATE INDEX exception_request_state ON exception_request (deployment_id, state, id);

CREATE TABLE exception_request_finding (
    deployment_id BIGINT NOT NULL REFERENCES deployment (id),
    request_id    BIGINT NOT NULL,
    number        INT    NOT NULL, -- from 1
    lineage_id    BIGINT NOT NULL,
    PRIMARY KEY (deployment_id, request_id, number)
);
CREATE INDEX exception_request_lineage ON exception_request_finding (deployment_id, lineage_id);

-- How many wait to be decided: commits look for what ended where there are any.
ALTER TABLE deployment ADD COLUMN open_requests BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE deployment DROP COLUMN open_requests;
DROP TABLE exception_request_finding;
DROP TABLE exception_request;
