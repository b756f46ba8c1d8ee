-- Scans that the server has runners make.

-- +goose Up

-- managed_run has one row per scan that was asked for. Its states are those of
-- redoubt.RunState; only the newest claim may change one that has begun.
CREATE TABLE managed_run (
    deployment_id BIGINT   NOT NULL,
    id            BIGINT   NOT NULL,
    project_id    BIGINT   NOT NULL,
    ref           TEXT     NOT NULL, -- empty is the remote's default branch
    commit_id     TEXT     NOT NULL, -- empty is the newest
    base          TEXT     NOT NULL, -- empty of a full run
    kind          SMALLINT NOT NULL,
    cause         SMALLINT NOT NULL,
    change_number BIGINT   NOT NULL, -- 0 for no change request
    host          TEXT     NOT NULL,
    state         SMALLINT NOT NULL,
    attempt       INTEGER  NOT NULL,
    claim         BIGINT   NOT NULL,
    runner_id     BIGINT   NOT NULL,
    token_id      BIGINT   NOT NULL, -- dies with the attempt; 0 for none
    scan_id       BIGINT   NOT NULL,
    failure       SMALLINT NOT NULL,
    reason        TEXT     NOT NULL,
    log_size      BIGINT   NOT NULL,
    due_at        BIGINT   NOT NULL,
    lease_until   BIGINT,
    created_at    BIGINT   NOT NULL,
    begun_at      BIGINT,
    ended_at      BIGINT,
    PRIMARY KEY (deployment_id, id)
);
CREATE INDEX managed_run_state ON managed_run (deployment_id, state, due_at, id);
CREATE INDEX managed_run_project ON managed_run (deployment_id, project_id, id);

-- managed_run_log is what the runner of the newest attempt said, in pieces.
CREATE TABLE managed_run_log (
    deployment_id BIGINT NOT NULL,
    run_id        BIGINT NOT NULL,
    start         BIGINT NOT NULL, -- bytes before it
    content       BYTEA  NOT NULL,
    PRIMARY KEY (deployment_id, run_id, start)
);

-- managed_plan says when full runs of a project are queued by themselves; a project
-- without a row is scanned weekly, where managed scans are switched on.
CREATE TABLE managed_plan (
    deployment_id BIGINT   NOT NULL,
    project_id    BIGINT   NOT NULL,
    every         SMALLINT NOT NULL,
    queued_at     BIGINT   NOT NULL,
    PRIMARY KEY (deployment_id, project_id)
);

-- runner has one row per program that asked for runs.
CREATE TABLE runner (
    deployment_id BIGINT NOT NULL,
    id            BIGINT NOT NULL,
    token_id      BIGINT NOT NULL,
    name          TEXT   NOT NULL,
    labels_json   TEXT   NOT NULL,
    version       TEXT   NOT NULL,
    isolation     TEXT   NOT NULL,
    first_at      BIGINT NOT NULL,
    seen_at       BIGINT NOT NULL,
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, token_id, name)
);

INSERT INTO sequence (name, next) VALUES ('managed_run', 1), ('runner', 1);

-- +goose Down
DELETE FROM sequence WHERE name IN ('managed_run', 'runner');
DROP TABLE runner;
DROP TABLE managed_plan;
DROP TABLE managed_run_log;
DROP TABLE managed_run;
