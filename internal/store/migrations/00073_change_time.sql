-- change_time tells when versions came, for who knows no version but a time: commits after a
-- version began at a time. There is a row a minute at most, and none that the feed was
-- pruned past but one.

-- +goose Up
CREATE TABLE change_time (
    deployment_id BIGINT NOT NULL,
    at            BIGINT NOT NULL,
    version       BIGINT NOT NULL, -- before the commit; -1: commits until then have no times
    PRIMARY KEY (deployment_id, at)
);
INSERT INTO change_time (deployment_id, at, version)
SELECT id, committed_at, -1 FROM deployment WHERE version > 0;

-- +goose Down
DROP TABLE change_time;
