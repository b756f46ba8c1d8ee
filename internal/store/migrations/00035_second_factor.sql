-- A second factor of people who sign in with a password or a link: codes of an
-- authenticator app (RFC 6238), and recovery codes in their place.

-- +goose Up

-- Since when the user has one. It is in the row that a sign-in locks, so that none
-- steps over a factor that is set up at the same moment.
ALTER TABLE app_user ADD COLUMN second_factor_at BIGINT;

-- Whether people need one to work in the deployment.
ALTER TABLE deployment ADD COLUMN second_factor SMALLINT NOT NULL DEFAULT 0;

CREATE TABLE user_totp (
    user_id   BIGINT PRIMARY KEY REFERENCES app_user (id),
    secret    BYTEA  NOT NULL, -- sealed under a key of the key file
    used_step BIGINT NOT NULL  -- of the newest code taken, in 30 seconds since 1970: no code is taken twice
);

CREATE TABLE user_recovery_code (
    user_id BIGINT NOT NULL REFERENCES app_user (id),
    hash    BYTEA  NOT NULL, -- SHA-256 of 80 random bits
    PRIMARY KEY (user_id, hash)
);

-- user_half_session has the sign-ins that still wait for the second factor. A table
-- of its own, so that nothing takes one of them for a session.
CREATE TABLE user_half_session (
    hash       BYTEA    PRIMARY KEY, -- SHA-256 of the cookie
    user_id    BIGINT   NOT NULL REFERENCES app_user (id),
    method     TEXT     NOT NULL, -- what was shown first
    tries      SMALLINT NOT NULL,
    expires_at BIGINT   NOT NULL
);
CREATE INDEX user_half_session_user ON user_half_session (user_id);

-- +goose Down
DROP TABLE user_half_session;
DROP TABLE user_recovery_code;
DROP TABLE user_totp;
ALTER TABLE deployment DROP COLUMN second_factor;
ALTER TABLE app_user DROP COLUMN second_factor_at;
