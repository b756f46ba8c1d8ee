-- What people let OAuth clients have, such as assistants: docs/decisions/0030-oauth.md.

-- +goose Up

-- oauth_grant is a code until it is exchanged, then a token that can be renewed.
CREATE TABLE oauth_grant (
    deployment_id BIGINT NOT NULL REFERENCES deployment (id),
    code_hash     BYTEA  NOT NULL, -- SHA-256 of the code, also once it is used: a second use is told from a guess
    token_id      BIGINT NOT NULL, -- 0 until the code was exchanged
    client_hash   BYTEA  NOT NULL, -- SHA-256 of the client's id
    redirect_uri  TEXT   NOT NULL,
    challenge     TEXT   NOT NULL, -- S256 of the client's verifier
    resource      TEXT   NOT NULL,
    generation    BIGINT NOT NULL, -- of the refresh token in force; 0 before there is one
    refresh_hash  BYTEA  NOT NULL, -- SHA-256 of it; empty before
    expires_at    BIGINT NOT NULL, -- of the code, then of the refresh token
    token_json    TEXT   NOT NULL, -- the token to make for the code, without its secret
    approved_json TEXT   NOT NULL, -- redoubt.Actor who approved it
    PRIMARY KEY (deployment_id, code_hash)
);
CREATE INDEX oauth_grant_token ON oauth_grant (deployment_id, token_id);

-- +goose Down
DROP TABLE oauth_grant;
