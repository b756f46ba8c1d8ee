-- Passkeys of people who sign in here: a second factor, or a sign-in by itself.

-- +goose Up
CREATE TABLE user_passkey (
    id            BIGINT PRIMARY KEY, -- of the sequence of user_link
    user_id       BIGINT NOT NULL REFERENCES app_user (id),
    credential_id BYTEA  NOT NULL UNIQUE, -- the authenticator's own name for it
    credential    BYTEA  NOT NULL, -- public key, counter and flags, sealed under a key of the key file
    name          TEXT   NOT NULL,
    created_at    BIGINT NOT NULL,
    used_at       BIGINT
);
CREATE INDEX user_passkey_user ON user_passkey (user_id);

-- user_used_challenge has what passkeys have signed to sign in, as long as it could
-- be shown again.
CREATE TABLE user_used_challenge (
    hash       BYTEA  PRIMARY KEY, -- SHA-256
    expires_at BIGINT NOT NULL
);

-- +goose Down
DROP TABLE user_used_challenge;
DROP TABLE user_passkey;
