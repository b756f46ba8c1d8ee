-- What people replied to our comments at change requests, and what came of it.

-- +goose Up
ALTER TABLE connection ADD COLUMN replies SMALLINT NOT NULL DEFAULT 1; -- redoubt.ReplyPolicy
ALTER TABLE connection ADD COLUMN people_json TEXT NOT NULL DEFAULT '{}'; -- redoubt.HostPeople
ALTER TABLE change_request ADD COLUMN replies_read_at BIGINT; -- updated_at when replies were read last

CREATE TABLE change_reply (
    deployment_id BIGINT   NOT NULL REFERENCES deployment (id),
    repository_id BIGINT   NOT NULL,
    number        BIGINT   NOT NULL, -- of the change request
    comment       TEXT     NOT NULL, -- scm.Comment.Key
    login         TEXT     NOT NULL, -- who wrote it, at the host
    outcome       TEXT     NOT NULL, -- what is answered; empty: nothing
    answered      SMALLINT NOT NULL, -- whether the host has the answer, or needs none
    decided_at    BIGINT   NOT NULL,
    PRIMARY KEY (deployment_id, repository_id, number, comment)
);

-- +goose Down
DROP TABLE change_reply;
ALTER TABLE change_request DROP COLUMN replies_read_at;
ALTER TABLE connection DROP COLUMN people_json;
ALTER TABLE connection DROP COLUMN replies;
