-- What we wrote at change requests, by the hosts' own ids, and who writes now.

-- +goose Up
ALTER TABLE change_request ADD COLUMN told_until BIGINT NOT NULL DEFAULT 0; -- until when a server writes there, and no other may

CREATE TABLE change_comment (
    deployment_id BIGINT   NOT NULL REFERENCES deployment (id),
    repository_id BIGINT   NOT NULL,
    number        BIGINT   NOT NULL, -- of the change request
    lineage_id    BIGINT   NOT NULL, -- 0: the summary
    host_id       TEXT     NOT NULL, -- empty: it is being written
    thread        TEXT     NOT NULL,
    path          TEXT     NOT NULL, -- empty of the summary
    body          TEXT     NOT NULL, -- as it was written last
    settled       SMALLINT NOT NULL,
    PRIMARY KEY (deployment_id, repository_id, number, lineage_id)
);

-- +goose Down
DROP TABLE change_comment;
ALTER TABLE change_request DROP COLUMN told_until;
