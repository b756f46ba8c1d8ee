-- People who sign in. Users belong to the server, so these tables have no
-- tenant, but for user_role: what a user may do in a deployment.
--
-- The text differs between the engines in its sequences alone.

-- +goose Up
CREATE TABLE app_user (
    id            BIGINT PRIMARY KEY,
    name          TEXT   NOT NULL UNIQUE, -- lower case, to sign in with
    display_name  TEXT   NOT NULL,
    password_hash TEXT   NOT NULL, -- argon2id as a PHC string; empty: no password
    created_at    BIGINT NOT NULL,
    disabled_at   BIGINT,
    signed_in_at  BIGINT
);

CREATE TABLE user_role (
    deployment_id BIGINT   NOT NULL REFERENCES deployment (id),
    user_id       BIGINT   NOT NULL REFERENCES app_user (id),
    role          SMALLINT NOT NULL,
    PRIMARY KEY (deployment_id, user_id)
);
CREATE INDEX user_role_user ON user_role (user_id);

-- user_identity says which user an identity provider's subject is.
CREATE TABLE user_identity (
    issuer  TEXT   NOT NULL,
    subject TEXT   NOT NULL,
    user_id BIGINT NOT NULL REFERENCES app_user (id),
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX user_identity_user ON user_identity (user_id);

CREATE TABLE user_session (
    id         BIGINT PRIMARY KEY,
    hash       BYTEA  NOT NULL UNIQUE, -- SHA-256 of the cookie
    user_id    BIGINT NOT NULL REFERENCES app_user (id),
    method     TEXT   NOT NULL,
    address    TEXT   NOT NULL,
    agent      TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX user_session_user ON user_session (user_id);

-- user_link has the one-time links that nobody has used yet.
CREATE TABLE user_link (
    id            BIGINT PRIMARY KEY,
    hash          BYTEA  NOT NULL UNIQUE, -- SHA-256 of the code in the link
    kind          TEXT   NOT NULL,
    user_id       BIGINT, -- NULL of a setup link
    deployment_id BIGINT, -- of which a setup link makes an admin
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL
);

-- A token that a user made can do no more than the user can.
ALTER TABLE token ADD COLUMN user_id BIGINT;

-- The pages show the newest events of one kind or one actor.
CREATE INDEX audit_event_action ON audit_event (deployment_id, action, id);
CREATE INDEX audit_event_actor ON audit_event (deployment_id, actor_json, id);

CREATE SEQUENCE app_user_id_seq MAXVALUE 9007199254740991;
CREATE SEQUENCE user_session_id_seq MAXVALUE 9007199254740991;
CREATE SEQUENCE user_link_id_seq MAXVALUE 9007199254740991;

-- +goose Down
DROP SEQUENCE user_link_id_seq;
DROP SEQUENCE user_session_id_seq;
DROP SEQUENCE app_user_id_seq;
DROP INDEX audit_event_actor;
DROP INDEX audit_event_action;
ALTER TABLE token DROP COLUMN user_id;
DROP TABLE user_link;
DROP TABLE user_session;
DROP TABLE user_identity;
DROP TABLE user_role;
DROP TABLE app_user;
