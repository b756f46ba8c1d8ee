-- What scanners need beside a scan that goes well: completions that are worked
-- in the background, signing in, what failed, and rules for everybody.
--
-- Two tables here have rows that are no tenant's yet, or never: those have the
-- deployment_id 0, which no deployment has.

-- +goose Up
ALTER TABLE agent_scan ADD COLUMN done_json BYTEA; -- what the scanner said at the end; NULL before, and once it is applied

ALTER TABLE deployment ADD COLUMN open_rules SMALLINT NOT NULL DEFAULT 0; -- whether rules are served without a token

-- login_request has the scanners that wait for a token, until they get it. The
-- token is made when it is fetched, so none is ever kept.
CREATE TABLE login_request (
    deployment_id BIGINT NOT NULL, -- 0 until somebody approves it
    key_hash      BYTEA  NOT NULL, -- SHA-256 of the key that the scanner asks with
    code          TEXT   NOT NULL, -- what people call it; the key does not follow from it
    address       TEXT   NOT NULL, -- of who asked
    agent         TEXT   NOT NULL,
    asked_at      BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL,
    token_json    TEXT   NOT NULL, -- the token to make, without its secret; empty before
    approved_json TEXT   NOT NULL, -- redoubt.Actor who approved it; empty before
    PRIMARY KEY (deployment_id, key_hash),
    UNIQUE (deployment_id, code)
);

-- failed_attempt has what scanners could not do, the newest ones of each
-- deployment. Several steps of one run are one row.
CREATE TABLE failed_attempt (
    deployment_id BIGINT  NOT NULL, -- 0 where no token tells which
    name          TEXT    NOT NULL, -- the scanner's own name of its run, else one of ours
    at            BIGINT  NOT NULL, -- of the first step
    step          TEXT    NOT NULL, -- the first one that failed
    exit_code     INTEGER NOT NULL, -- 0 where it was not told
    cause         TEXT    NOT NULL, -- for people, without secrets
    scan_id       BIGINT  NOT NULL, -- 0 where no scan had begun
    token_id      TEXT    NOT NULL, -- public id; empty where no known token was sent
    repository    TEXT    NOT NULL,
    ref           TEXT    NOT NULL,
    agent         TEXT    NOT NULL,
    address       TEXT    NOT NULL,
    PRIMARY KEY (deployment_id, name)
);
CREATE INDEX failed_attempt_at ON failed_attempt (at);

-- +goose Down
DROP TABLE failed_attempt;
DROP TABLE login_request;
ALTER TABLE deployment DROP COLUMN open_rules;
ALTER TABLE agent_scan DROP COLUMN done_json;
