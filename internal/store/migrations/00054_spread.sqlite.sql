-- Tenants can be spread over the nodes of a distributed database, by deployment_id: what
-- belongs to a tenant is where its row is, and what all of them share is on the node that is
-- asked. No statement is about both, and none about several tenants. What was: the slug,
-- which is unique in all; who has a role where; and where there is work.

-- +goose Up
-- deployment_slug is the list of the deployments: what is told of one without asking the
-- node that it is on.
CREATE TABLE deployment_slug (
    slug          TEXT     PRIMARY KEY,
    deployment_id BIGINT   NOT NULL UNIQUE,
    name          TEXT     NOT NULL,
    created_at    BIGINT   NOT NULL,
    second_factor SMALLINT NOT NULL
);
INSERT INTO deployment_slug (slug, deployment_id, name, created_at, second_factor) SELECT slug, id, name, created_at, second_factor FROM deployment;

-- SQLite is never spread, so its other keys stay as they are.
-- job_due tells in which tenants there may be work of a kind, and from when on: never later
-- than there is, and perhaps sooner.
CREATE TABLE job_due (
    deployment_id BIGINT NOT NULL,
    kind          TEXT   NOT NULL,
    due_at        BIGINT NOT NULL,
    turn_at       BIGINT NOT NULL DEFAULT 0, -- when somebody last looked: the next is whose turn is the longest ago
    PRIMARY KEY (deployment_id, kind)
);
INSERT INTO job_due (deployment_id, kind, due_at) SELECT DISTINCT deployment_id, kind, 0 FROM job WHERE state IN (1, 2);
DROP INDEX job_state;
CREATE INDEX job_state ON job (deployment_id, kind, state, run_at, id);

-- +goose Down
DROP INDEX job_state;
CREATE INDEX job_state ON job (state, run_at, id);
DROP TABLE job_due;
DROP TABLE deployment_slug;
