-- What code hosts propose, and what they told us.

-- +goose Up
CREATE TABLE change_request (
    deployment_id BIGINT   NOT NULL REFERENCES deployment (id),
    repository_id BIGINT   NOT NULL,
    number        BIGINT   NOT NULL, -- the host's
    title         TEXT     NOT NULL,
    author        TEXT     NOT NULL,
    web_url       TEXT     NOT NULL,
    state         SMALLINT NOT NULL, -- redoubt.ChangeState
    head_commit   TEXT     NOT NULL,
    head_ref      TEXT     NOT NULL,
    fetch_ref     TEXT     NOT NULL,
    base_ref      TEXT     NOT NULL,
    base_commit   TEXT     NOT NULL,
    fork          SMALLINT NOT NULL,
    updated_at    BIGINT,
    PRIMARY KEY (deployment_id, repository_id, number)
);
CREATE INDEX change_request_head ON change_request (deployment_id, repository_id, head_commit);

-- webhook_delivery is what a host told: each once, however often it is sent.
CREATE TABLE webhook_delivery (
    deployment_id BIGINT NOT NULL REFERENCES deployment (id),
    id            BIGINT NOT NULL, -- of the sequence of connection
    connection_id BIGINT NOT NULL,
    delivery      TEXT   NOT NULL, -- the host's id of it, or a hash of what was told
    event         TEXT   NOT NULL,
    repository    TEXT   NOT NULL, -- the host's id; empty: none
    received_at   BIGINT NOT NULL,
    outcome       TEXT   NOT NULL, -- for people; empty until it was worked off
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, connection_id, delivery)
);

-- +goose Down
DROP TABLE webhook_delivery;
DROP TABLE change_request;
