-- What policies need beside their rules: which projects they are for, what they
-- leave out, and the versions of rules, which are a rule's and no policy's.

-- +goose Up
ALTER TABLE policy ADD COLUMN scope_json TEXT NOT NULL DEFAULT '{}'; -- redoubt.PolicyScope; empty is every project
ALTER TABLE policy ADD COLUMN excludes_json TEXT NOT NULL DEFAULT '[]'; -- globs of paths that scanners leave out
ALTER TABLE policy ADD COLUMN block_all SMALLINT NOT NULL DEFAULT 0; -- not only what the primary branch does not have

-- rule_version has every text that a rule had since it was served first; the
-- newest counts, in every policy that has the rule.
CREATE TABLE rule_version (
    deployment_id BIGINT   NOT NULL,
    rule_name     TEXT     NOT NULL,
    version       INTEGER  NOT NULL, -- from 1
    text_json     TEXT     NOT NULL,
    checked       SMALLINT NOT NULL, -- whether the scanner itself has parsed it
    starter       SMALLINT NOT NULL, -- whether it came with the server
    added_at      BIGINT   NOT NULL,
    added_by      TEXT     NOT NULL,
    PRIMARY KEY (deployment_id, rule_name, version)
);
INSERT INTO rule_version (deployment_id, rule_name, version, text_json, checked, starter, added_at, added_by)
SELECT t.deployment_id, p.rule_name,
    ROW_NUMBER() OVER (PARTITION BY t.deployment_id, p.rule_name ORDER BY t.added_at, t.policy_rule_id, t.version),
    t.text_json, t.checked, 0, t.added_at, t.added_by
FROM rule_text t JOIN policy_rule p ON p.deployment_id = t.deployment_id AND p.id = t.policy_rule_id;
DROP TABLE rule_text;

-- policy_rule_name finds the policies that have a rule.
CREATE INDEX policy_rule_name ON policy_rule (deployment_id, rule_name);

-- +goose Down
DROP INDEX policy_rule_name;
CREATE TABLE rule_text (
    deployment_id  BIGINT   NOT NULL,
    policy_rule_id BIGINT   NOT NULL,
    version        INTEGER  NOT NULL,
    text_json      TEXT     NOT NULL,
    checked        SMALLINT NOT NULL,
    added_at       BIGINT   NOT NULL,
    added_by       TEXT     NOT NULL,
    PRIMARY KEY (deployment_id, policy_rule_id, version)
);
INSERT INTO rule_text (deployment_id, policy_rule_id, version, text_json, checked, added_at, added_by)
SELECT v.deployment_id, p.id, v.version, v.text_json, v.checked, v.added_at, v.added_by
FROM rule_version v JOIN policy_rule p ON p.deployment_id = v.deployment_id AND p.rule_name = v.rule_name;
DROP TABLE rule_version;
ALTER TABLE policy DROP COLUMN block_all;
ALTER TABLE policy DROP COLUMN excludes_json;
ALTER TABLE policy DROP COLUMN scope_json;
