-- What brings findings in line with exceptions and VEX documents where no upload
-- does: housekeeping looks at what changed since it last did.

-- +goose Up

-- exemption_mark is how far a deployment's findings are in line.
CREATE TABLE exemption_mark (
    deployment_id BIGINT NOT NULL,
    version       BIGINT NOT NULL, -- of the deployment
    triage_event  BIGINT NOT NULL, -- the newest of the trail
    advisories    BIGINT NOT NULL, -- version of the advisories
    marked_at     BIGINT NOT NULL,
    PRIMARY KEY (deployment_id)
);

-- advisory_alias_change lists names of vulnerabilities that got or lost aliases
-- with a version of the advisories, until all deployments are marked with it.
CREATE TABLE advisory_alias_change (
    version BIGINT NOT NULL,
    name    TEXT   NOT NULL, -- in upper case
    PRIMARY KEY (version, name)
);

-- A vulnerability is looked for whatever the case in which its source names it.
DROP INDEX finding_subject_vulnerability;
CREATE INDEX finding_subject_vulnerability ON finding_subject (deployment_id, UPPER(vulnerability));

-- +goose Down
DROP INDEX finding_subject_vulnerability;
CREATE INDEX finding_subject_vulnerability ON finding_subject (deployment_id, vulnerability);
DROP TABLE advisory_alias_change;
DROP TABLE exemption_mark;
