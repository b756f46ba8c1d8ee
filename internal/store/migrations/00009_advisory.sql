-- Advisories: what is known to be wrong with packages. They belong to the
-- server, so these tables have no tenant, but for the last two: how far a
-- deployment has followed them, and what its supply-chain findings are about.

-- +goose Up

-- advisory_state has one row. Records of a load under way are written under
-- version + 1; at its end that becomes the version, and everyone follows.
CREATE TABLE advisory_state (
    id               SMALLINT PRIMARY KEY,
    version          BIGINT NOT NULL,
    scores_version   BIGINT NOT NULL, -- grows with every load of EPSS scores
    changed_at       BIGINT,
    next_advisory_id BIGINT NOT NULL,
    next_group_id    BIGINT NOT NULL
);
INSERT INTO advisory_state (id, version, scores_version, next_advisory_id, next_group_id) VALUES (1, 0, 0, 1, 1);

-- advisory has one row per OSV record.
CREATE TABLE advisory (
    id        BIGINT   PRIMARY KEY,
    name      TEXT     NOT NULL UNIQUE, -- the record's own id
    digest    BYTEA    NOT NULL,        -- of the record as it came
    modified  BIGINT,
    withdrawn SMALLINT NOT NULL,
    facts     BYTEA    NOT NULL, -- what decides; JSON
    text      BYTEA    NOT NULL  -- what people read; deflated JSON
);

-- advisory_name has the record's id and aliases, in upper case.
CREATE TABLE advisory_name (
    name        TEXT   NOT NULL,
    advisory_id BIGINT NOT NULL,
    PRIMARY KEY (name, advisory_id)
);
CREATE INDEX advisory_name_advisory ON advisory_name (advisory_id);

-- advisory_package says which packages a record is about: npm/lodash.
CREATE TABLE advisory_package (
    package     TEXT   NOT NULL,
    advisory_id BIGINT NOT NULL,
    PRIMARY KEY (package, advisory_id)
);
CREATE INDEX advisory_package_advisory ON advisory_package (advisory_id);

-- advisory_member puts records that share names into one group (semantics §14).
CREATE TABLE advisory_member (
    advisory_id BIGINT PRIMARY KEY,
    group_id    BIGINT NOT NULL
);
CREATE INDEX advisory_member_group ON advisory_member (group_id);

-- advisory_former has the groups that became part of another.
CREATE TABLE advisory_former (
    id      BIGINT PRIMARY KEY,
    into_id BIGINT NOT NULL
);
CREATE INDEX advisory_former_into ON advisory_former (into_id);

-- advisory_change is the feed: which packages a version touched.
CREATE TABLE advisory_change (
    version BIGINT NOT NULL,
    package TEXT   NOT NULL,
    PRIMARY KEY (version, package)
);

-- advisory_source is where advisories, scores and the catalogue of exploited
-- vulnerabilities came from, and how old they are.
CREATE TABLE advisory_source (
    location      TEXT    PRIMARY KEY,
    kind          TEXT    NOT NULL, -- osv, epss or kev
    etag          TEXT    NOT NULL,
    last_modified TEXT    NOT NULL,
    checked_at    BIGINT,           -- when it was last found to be as loaded
    loaded_at     BIGINT,           -- when it was last loaded
    newest_at     BIGINT,           -- of what it holds
    records       BIGINT  NOT NULL,
    refused       BIGINT  NOT NULL,
    error         TEXT    NOT NULL  -- of the last try; empty when it went well
);

CREATE TABLE epss (
    cve        TEXT PRIMARY KEY,
    score      DOUBLE PRECISION NOT NULL,
    percentile DOUBLE PRECISION NOT NULL
);

CREATE TABLE kev (
    cve        TEXT     PRIMARY KEY,
    added_at   BIGINT,
    due_at     BIGINT,
    ransomware SMALLINT NOT NULL,
    name       TEXT     NOT NULL,
    action     TEXT     NOT NULL
);

-- advisory_match says how far a deployment has followed the advisories. One
-- worker at a time goes through its refs in order; another takes up where it
-- stopped, once the lease has run out.
CREATE TABLE advisory_match (
    deployment_id  BIGINT NOT NULL,
    version        BIGINT NOT NULL, -- of the advisories, followed on all refs
    target         BIGINT NOT NULL, -- under way; the version itself when none is
    after_project  BIGINT NOT NULL, -- the last ref that is done
    after_ref      TEXT   NOT NULL,
    scores_version BIGINT NOT NULL,
    lease_until    BIGINT,
    PRIMARY KEY (deployment_id)
);

-- finding_subject is what a supply-chain finding is about.
CREATE TABLE finding_subject (
    deployment_id BIGINT NOT NULL,
    finding_id    BIGINT NOT NULL,
    lockfile      TEXT   NOT NULL,
    ecosystem     TEXT   NOT NULL,
    package       TEXT   NOT NULL,
    version       TEXT   NOT NULL,
    vulnerability TEXT   NOT NULL, -- as its source names it
    group_id      BIGINT NOT NULL, -- of advisories' own findings; else 0
    PRIMARY KEY (deployment_id, finding_id)
);
CREATE INDEX finding_subject_group ON finding_subject (deployment_id, group_id);
CREATE INDEX finding_subject_vulnerability ON finding_subject (deployment_id, vulnerability);

-- +goose Down
DROP TABLE finding_subject;
DROP TABLE advisory_match;
DROP TABLE kev;
DROP TABLE epss;
DROP TABLE advisory_source;
DROP TABLE advisory_change;
DROP TABLE advisory_former;
DROP TABLE advisory_member;
DROP TABLE advisory_package;
DROP TABLE advisory_name;
DROP TABLE advisory;
DROP TABLE advisory_state;
