-- Lists of findings that people come back to, and which of them the pages open with.

-- +goose Up
CREATE TABLE saved_view (
    deployment_id   BIGINT   NOT NULL REFERENCES deployment (id),
    id              BIGINT   NOT NULL, -- of the sequence of connection
    owner_id        BIGINT   NOT NULL, -- user; 0: the deployment
    issue_type      SMALLINT NOT NULL, -- redoubt.IssueType
    name            TEXT     NOT NULL,
    query           TEXT     NOT NULL, -- of the findings page
    created_at      BIGINT   NOT NULL,
    created_by_json TEXT     NOT NULL,
    PRIMARY KEY (deployment_id, id)
);
CREATE UNIQUE INDEX saved_view_name ON saved_view (deployment_id, owner_id, name);

CREATE TABLE saved_view_default (
    deployment_id BIGINT   NOT NULL REFERENCES deployment (id),
    user_id       BIGINT   NOT NULL,
    issue_type    SMALLINT NOT NULL, -- redoubt.IssueType
    view_id       BIGINT   NOT NULL,
    PRIMARY KEY (deployment_id, user_id, issue_type)
);
CREATE INDEX saved_view_default_view ON saved_view_default (deployment_id, view_id);

-- +goose Down
DROP TABLE saved_view_default;
DROP TABLE saved_view;
