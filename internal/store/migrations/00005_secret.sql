-- Secrets: what is known of rules (semantics §16).

-- +goose Up

-- secret_rule names the rules of a tool that look for secrets, as some upload
-- said. A name is settled once the findings of code that it had are rewritten.
CREATE TABLE secret_rule (
    deployment_id BIGINT   NOT NULL,
    tool          TEXT     NOT NULL,
    name          TEXT     NOT NULL,
    settled       SMALLINT NOT NULL,
    PRIMARY KEY (deployment_id, tool, name)
);
INSERT INTO secret_rule (deployment_id, tool, name, settled)
SELECT DISTINCT deployment_id, source, rule_name, 0 FROM finding WHERE issue_type = 3 AND source NOT LIKE '%:%';

-- +goose Down
DROP TABLE secret_rule;
