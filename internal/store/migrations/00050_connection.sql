-- Accounts on code hosts, and the repositories that they see.

-- +goose Up
CREATE TABLE connection (
    deployment_id  BIGINT   NOT NULL REFERENCES deployment (id),
    id             BIGINT   NOT NULL,
    kind           SMALLINT NOT NULL, -- redoubt.HostKind
    name           TEXT     NOT NULL,
    base_url       TEXT     NOT NULL,
    account        TEXT     NOT NULL, -- the login, as the host told it
    credential     BYTEA    NOT NULL, -- sealed under a key of the key file; empty: none
    webhook_secret BYTEA    NOT NULL, -- sealed too
    follow_json    TEXT     NOT NULL, -- globs of repositories that become projects by themselves
    created_at     BIGINT   NOT NULL,
    checked_at     BIGINT,
    problem        TEXT     NOT NULL, -- of the last check; empty: none
    heard_at       BIGINT,            -- of the newest webhook that was verified
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, name)
);

CREATE TABLE repository (
    deployment_id  BIGINT   NOT NULL REFERENCES deployment (id),
    id             BIGINT   NOT NULL, -- of the sequence of connection
    connection_id  BIGINT   NOT NULL,
    host_id        TEXT     NOT NULL, -- the host's own, which stays when it is renamed
    full_name      TEXT     NOT NULL,
    default_branch TEXT     NOT NULL,
    archived       SMALLINT NOT NULL,
    private        SMALLINT NOT NULL,
    clone_url      TEXT     NOT NULL,
    web_url        TEXT     NOT NULL,
    project_id     BIGINT   NOT NULL, -- 0: is no project
    hook_id        TEXT     NOT NULL, -- the host's id of the webhook made there; empty: none
    gone_at        BIGINT,            -- since when the host tells of it no more
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, connection_id, host_id)
);
CREATE UNIQUE INDEX repository_project ON repository (deployment_id, project_id) WHERE project_id <> 0;

-- +goose Down
DROP TABLE repository;
DROP TABLE connection;
