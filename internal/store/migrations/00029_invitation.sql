-- An admin of a deployment invites; a person joins by accepting. There is no
-- reference to a user: an invitation looks the same whether or not there is one
-- of that name.

-- +goose Up
CREATE TABLE user_invitation (
    deployment_id BIGINT   NOT NULL REFERENCES deployment (id),
    id            BIGINT   NOT NULL, -- of the sequence of user_link
    name          TEXT     NOT NULL, -- of who may accept it
    new_name      TEXT     NOT NULL, -- of the user whom its link makes
    display_name  TEXT     NOT NULL,
    role          SMALLINT NOT NULL,
    hash          BYTEA    NOT NULL, -- SHA-256 of the code in the link
    invited_by    TEXT     NOT NULL,
    created_at    BIGINT   NOT NULL,
    expires_at    BIGINT   NOT NULL,
    declined_at   BIGINT, -- who invited is not told
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, name)
);
CREATE INDEX user_invitation_name ON user_invitation (name);
CREATE INDEX user_invitation_hash ON user_invitation (hash);

-- +goose Down
DROP TABLE user_invitation;
