-- Exceptions: what is accepted for a while, and by whom. And what a policy for
-- the supply chain blocks.

-- +goose Up

-- exception has those too that are over, until somebody removes them.
CREATE TABLE exception (
    deployment_id BIGINT   NOT NULL,
    id            BIGINT   NOT NULL,
    target        TEXT     NOT NULL, -- name of a rule or of a vulnerability
    paths_json    TEXT     NOT NULL, -- globs; none is every path
    projects_json TEXT     NOT NULL, -- globs; none is every project
    reason        TEXT     NOT NULL,
    triage_reason SMALLINT NOT NULL,
    until_at      BIGINT,            -- NULL is for ever
    created_at    BIGINT   NOT NULL,
    created_by    TEXT     NOT NULL,
    PRIMARY KEY (deployment_id, id)
);

-- lineage_automatic finds what an exception ignored.
CREATE INDEX lineage_automatic ON lineage (deployment_id, triaged_by_json) WHERE automatic = 1;

ALTER TABLE policy ADD COLUMN conditions_json TEXT NOT NULL DEFAULT '[]'; -- redoubt.PolicyCondition, or-ed
INSERT INTO sequence (name, next) VALUES ('exception', 1);

-- +goose Down
DELETE FROM sequence WHERE name = 'exception';
ALTER TABLE policy DROP COLUMN conditions_json;
DROP INDEX lineage_automatic;
DROP TABLE exception;
