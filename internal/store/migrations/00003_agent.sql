-- What scanners that report by themselves need: the scans under way, and the
-- texts of the rules that they are served.

-- +goose Up
ALTER TABLE scan ADD COLUMN unread_json TEXT NOT NULL DEFAULT '[]'; -- lockfiles that the scanner could not read

-- A removed rule keeps its row, for its findings still name it.
ALTER TABLE policy_rule ADD COLUMN removed SMALLINT NOT NULL DEFAULT 0;

-- agent_scan keeps what a scanner said of a scan from its start to its end, and
-- the answer it got, so that a request that comes twice counts once.
CREATE TABLE agent_scan (
    deployment_id BIGINT NOT NULL,
    unique_id     TEXT   NOT NULL, -- the scanner's own name of the scan
    scan_id       BIGINT NOT NULL, -- 0 of a dry run
    started_at    BIGINT NOT NULL,
    begun_json    TEXT   NOT NULL, -- what it said at the start
    report_json   BYTEA,           -- redoubt.Report, free of secrets; NULL before and after
    answer_json   TEXT   NOT NULL, -- to its completion; empty before
    PRIMARY KEY (deployment_id, unique_id)
);
CREATE INDEX agent_scan_scan ON agent_scan (deployment_id, scan_id);

-- rule_text has every version of a rule that scanners were served; the newest
-- counts.
CREATE TABLE rule_text (
    deployment_id  BIGINT   NOT NULL,
    policy_rule_id BIGINT   NOT NULL,
    version        INTEGER  NOT NULL,
    text_json      TEXT     NOT NULL,
    checked        SMALLINT NOT NULL, -- whether the scanner itself has parsed it
    added_at       BIGINT   NOT NULL,
    added_by       TEXT     NOT NULL,
    PRIMARY KEY (deployment_id, policy_rule_id, version)
);

-- +goose Down
DROP TABLE rule_text;
DROP TABLE agent_scan;
ALTER TABLE policy_rule DROP COLUMN removed;
ALTER TABLE scan DROP COLUMN unread_json;
