-- What people write about findings, and whom they name.

-- +goose Up
CREATE TABLE finding_comment (
    deployment_id     BIGINT NOT NULL REFERENCES deployment (id),
    id                BIGINT NOT NULL, -- of the sequence of connection
    lineage_id        BIGINT NOT NULL,
    body              TEXT   NOT NULL, -- empty once it was withdrawn
    written_at        BIGINT NOT NULL,
    written_by_json   TEXT   NOT NULL,
    author_id         BIGINT NOT NULL, -- user; 0: no user wrote it
    withdrawn_at      BIGINT,          -- NULL: it was not
    withdrawn_by_json TEXT   NOT NULL,
    PRIMARY KEY (deployment_id, id)
);
CREATE INDEX finding_comment_lineage ON finding_comment (deployment_id, lineage_id, id);
CREATE INDEX finding_comment_author ON finding_comment (deployment_id, author_id, written_at);

CREATE TABLE finding_comment_mention (
    deployment_id BIGINT NOT NULL REFERENCES deployment (id),
    comment_id    BIGINT NOT NULL,
    user_id       BIGINT NOT NULL,
    name          TEXT   NOT NULL, -- of the user, which never changes
    PRIMARY KEY (deployment_id, comment_id, user_id)
);
CREATE INDEX finding_comment_mention_user ON finding_comment_mention (deployment_id, user_id, comment_id);

-- +goose Down
DROP TABLE finding_comment_mention;
DROP TABLE finding_comment;
