-- Which files that servers start their indexes from tell of this database's history:
-- docs/decisions/0031-a-checkpoint-of-the-index.md.

-- +goose Up
CREATE TABLE index_checkpoint (
    deployment_id BIGINT NOT NULL REFERENCES deployment (id),
    id            TEXT   NOT NULL, -- random, in the file too
    version       BIGINT NOT NULL, -- of the deployment, that the file is of
    created_at    BIGINT NOT NULL, -- clock of the commit; the oldest go
    PRIMARY KEY (deployment_id, id)
);

-- +goose Down
DROP TABLE index_checkpoint;
