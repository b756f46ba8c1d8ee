-- The first storey: one text for SQLite and PostgreSQL.
--
-- Every tenant table starts its primary key and its unique keys with
-- deployment_id. Times are microseconds since 1970 in UTC; NULL is "not yet".
-- Small integers are the enumerations of package redoubt; columns ending in
-- _json hold JSON that SQL never looks into. BYTEA is a blob on SQLite too.

-- +goose Up

-- setting holds what the server made for itself: keys, by name.
CREATE TABLE setting (
    name  TEXT PRIMARY KEY,
    value BYTEA NOT NULL
);

CREATE TABLE deployment (
    id              BIGINT PRIMARY KEY,
    slug            TEXT   NOT NULL UNIQUE,
    name            TEXT   NOT NULL,
    created_at      BIGINT NOT NULL,
    version         BIGINT NOT NULL DEFAULT 0, -- grows with every commit that changes an answer
    pruned_version  BIGINT NOT NULL DEFAULT 0, -- changes up to here are gone from the feed
    committed_at    BIGINT NOT NULL DEFAULT 0, -- the clock value of the newest commit
    next_finding_id BIGINT NOT NULL DEFAULT 1
);

CREATE TABLE token (
    deployment_id BIGINT NOT NULL REFERENCES deployment (id),
    id            BIGINT NOT NULL,
    public_id     TEXT   NOT NULL,
    hash          BYTEA  NOT NULL, -- SHA-256 of the secret
    name          TEXT   NOT NULL,
    scopes_json   TEXT   NOT NULL,
    globs_json    TEXT   NOT NULL,
    dialect       TEXT   NOT NULL,
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT,
    last_used_at  BIGINT,
    revoked_at    BIGINT,
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, hash),
    UNIQUE (deployment_id, public_id)
);

CREATE TABLE project (
    deployment_id  BIGINT   NOT NULL REFERENCES deployment (id),
    id             BIGINT   NOT NULL,
    name           TEXT     NOT NULL,
    url            TEXT     NOT NULL,
    created_at     BIGINT   NOT NULL,
    default_branch TEXT     NOT NULL, -- empty before the first full scan of a branch
    primary_branch TEXT     NOT NULL, -- empty follows the default branch
    latest_scan_at BIGINT,
    visibility     SMALLINT NOT NULL,
    managed_diff   SMALLINT NOT NULL,
    managed_full   SMALLINT NOT NULL,
    repo_id        TEXT     NOT NULL, -- the host's own id; empty when unknown
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, name)
);
CREATE INDEX project_repo_id ON project (deployment_id, repo_id);

-- project_alias keeps old names answering (semantics §7).
CREATE TABLE project_alias (
    deployment_id BIGINT NOT NULL,
    name          TEXT   NOT NULL,
    project_id    BIGINT NOT NULL,
    PRIMARY KEY (deployment_id, name)
);

CREATE TABLE project_tag (
    deployment_id BIGINT   NOT NULL,
    project_id    BIGINT   NOT NULL,
    position      SMALLINT NOT NULL, -- tags keep the order they were given in
    tag           TEXT     NOT NULL,
    PRIMARY KEY (deployment_id, project_id, position)
);

-- scan has one row per upload and source.
CREATE TABLE scan (
    deployment_id BIGINT   NOT NULL,
    id            BIGINT   NOT NULL,
    project_id    BIGINT   NOT NULL,
    ref           TEXT     NOT NULL,
    commit_hash   TEXT     NOT NULL,
    source        TEXT     NOT NULL,
    started_at    BIGINT   NOT NULL,
    completed_at  BIGINT,
    exit_code     INTEGER,
    is_full       SMALLINT NOT NULL,
    products      SMALLINT NOT NULL, -- bit set of issue types
    status        SMALLINT NOT NULL,
    outcome       SMALLINT NOT NULL,
    code          INTEGER  NOT NULL,
    secrets       INTEGER  NOT NULL,
    supply_chain  INTEGER  NOT NULL,
    total_micros  BIGINT,
    digest        BYTEA    NOT NULL,
    error         TEXT     NOT NULL,
    PRIMARY KEY (deployment_id, id)
);
CREATE INDEX scan_started ON scan (deployment_id, started_at, id);
CREATE INDEX scan_project ON scan (deployment_id, project_id, started_at, id);
-- scan_applied finds what stands on a stream: the order of semantics §5.
CREATE INDEX scan_stream ON scan (deployment_id, project_id, ref, source, outcome, id);

-- rule has one row per content of a rule: its part of a finding's JSON, once.
CREATE TABLE rule (
    deployment_id BIGINT   NOT NULL,
    id            BIGINT   NOT NULL,
    name          TEXT     NOT NULL,
    digest        BYTEA    NOT NULL, -- of content_json
    issue_type    SMALLINT NOT NULL,
    content_json  TEXT     NOT NULL, -- redoubt.Rule
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, name, digest)
);

CREATE TABLE policy (
    deployment_id BIGINT   NOT NULL,
    id            BIGINT   NOT NULL,
    name          TEXT     NOT NULL,
    slug          TEXT     NOT NULL,
    product       SMALLINT NOT NULL,
    is_default    SMALLINT NOT NULL,
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, slug)
);

CREATE TABLE policy_rule (
    deployment_id  BIGINT   NOT NULL,
    id             BIGINT   NOT NULL,
    policy_id      BIGINT   NOT NULL,
    rule_name      TEXT     NOT NULL,
    rule_id        BIGINT   NOT NULL, -- its newest content
    mode           SMALLINT NOT NULL,
    served         SMALLINT NOT NULL,
    last_change_at BIGINT   NOT NULL,
    last_change_by TEXT     NOT NULL,
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, policy_id, rule_name)
);

-- lineage is one finding through refs, moves and changed rule texts; triage and
-- annotations hang here (semantics §4).
CREATE TABLE lineage (
    deployment_id    BIGINT   NOT NULL,
    id               BIGINT   NOT NULL,
    project_id       BIGINT   NOT NULL,
    triage_state     SMALLINT NOT NULL,
    triage_reason    SMALLINT NOT NULL,
    triage_comment   TEXT     NOT NULL,
    triaged_at       BIGINT,
    triaged_by_json  TEXT     NOT NULL,
    automatic        SMALLINT NOT NULL,
    annotations_json TEXT     NOT NULL,
    PRIMARY KEY (deployment_id, id)
);
CREATE INDEX lineage_project ON lineage (deployment_id, project_id);

CREATE TABLE lineage_identity (
    deployment_id BIGINT   NOT NULL,
    project_id    BIGINT   NOT NULL,
    kind          SMALLINT NOT NULL,
    hash          BYTEA    NOT NULL,
    lineage_id    BIGINT   NOT NULL,
    PRIMARY KEY (deployment_id, project_id, kind, hash)
);
CREATE INDEX lineage_identity_lineage ON lineage_identity (deployment_id, lineage_id);

-- finding is one narrow row per occurrence: what decides and filters.
CREATE TABLE finding (
    deployment_id    BIGINT   NOT NULL,
    id               BIGINT   NOT NULL,
    issue_type       SMALLINT NOT NULL,
    project_id       BIGINT   NOT NULL,
    ref              TEXT     NOT NULL,
    source           TEXT     NOT NULL,
    identity_kind    SMALLINT NOT NULL,
    identity_hash    BYTEA    NOT NULL,
    lineage_id       BIGINT   NOT NULL,
    rule_id          BIGINT   NOT NULL,
    rule_name        TEXT     NOT NULL,
    path             TEXT     NOT NULL,
    line             INTEGER  NOT NULL,
    code_hash        BYTEA    NOT NULL,
    pattern_hash     BYTEA    NOT NULL,
    content          BYTEA    NOT NULL,
    state            SMALLINT NOT NULL,
    severity         SMALLINT NOT NULL,
    confidence       SMALLINT NOT NULL,
    reachability     SMALLINT NOT NULL,
    transitivity     SMALLINT NOT NULL,
    package          TEXT     NOT NULL,
    flags            SMALLINT NOT NULL, -- malicious, pro only, historical, seen by a full scan
    validation_state SMALLINT NOT NULL,
    secret_type      TEXT     NOT NULL,
    created_at       BIGINT   NOT NULL,
    relevant_since   BIGINT   NOT NULL,
    state_updated_at BIGINT,
    first_scan_id    BIGINT   NOT NULL,
    version          BIGINT   NOT NULL, -- of the deployment at its last change
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, project_id, ref, source, identity_kind, identity_hash)
);
CREATE INDEX finding_lineage ON finding (deployment_id, lineage_id);
-- finding_secret lists the few secrets without a walk over all the code findings.
CREATE INDEX finding_secret ON finding (deployment_id, id) WHERE issue_type = 3;

-- finding_body is what only readers want: ready JSON members, never parsed to
-- be listed, and the evidence that pages show.
CREATE TABLE finding_body (
    deployment_id BIGINT NOT NULL,
    finding_id    BIGINT NOT NULL,
    body          BYTEA  NOT NULL,
    evidence_json TEXT   NOT NULL,
    PRIMARY KEY (deployment_id, finding_id)
);

-- finding_event says when a finding changed its state or place, and what did it.
CREATE TABLE finding_event (
    deployment_id BIGINT   NOT NULL,
    id            BIGINT   NOT NULL,
    finding_id    BIGINT   NOT NULL,
    at            BIGINT   NOT NULL,
    scan_id       BIGINT   NOT NULL,
    kind          TEXT     NOT NULL, -- fixed, returned, removed, moved, muted, unmuted
    detail_json   TEXT     NOT NULL,
    PRIMARY KEY (deployment_id, id)
);
CREATE INDEX finding_event_finding ON finding_event (deployment_id, finding_id);

-- change is the feed of the index: what changed in which version.
CREATE TABLE change (
    deployment_id BIGINT   NOT NULL,
    version       BIGINT   NOT NULL,
    kind          SMALLINT NOT NULL,
    id            BIGINT   NOT NULL,
    deleted       SMALLINT NOT NULL,
    PRIMARY KEY (deployment_id, version, kind, id)
);

CREATE TABLE triage_event (
    deployment_id BIGINT NOT NULL,
    id            BIGINT NOT NULL,
    lineage_id    BIGINT NOT NULL,
    at            BIGINT NOT NULL,
    actor_json    TEXT   NOT NULL,
    before_json   TEXT   NOT NULL,
    after_json    TEXT   NOT NULL,
    note          TEXT   NOT NULL,
    PRIMARY KEY (deployment_id, id)
);
CREATE INDEX triage_event_lineage ON triage_event (deployment_id, lineage_id);

CREATE TABLE audit_event (
    deployment_id BIGINT NOT NULL,
    id            BIGINT NOT NULL,
    at            BIGINT NOT NULL,
    actor_json    TEXT   NOT NULL,
    action        TEXT   NOT NULL,
    subject       TEXT   NOT NULL,
    before_json   TEXT   NOT NULL,
    after_json    TEXT   NOT NULL,
    PRIMARY KEY (deployment_id, id)
);

-- inventory is what is in force about one lockfile of one ref (semantics §15).
CREATE TABLE inventory (
    deployment_id BIGINT NOT NULL,
    id            BIGINT NOT NULL,
    project_id    BIGINT NOT NULL,
    ref           TEXT   NOT NULL,
    lockfile      TEXT   NOT NULL,
    source        TEXT   NOT NULL,
    scan_id       BIGINT NOT NULL,
    commit_hash   TEXT   NOT NULL,
    digest        BYTEA  NOT NULL,
    stated_at     BIGINT NOT NULL, -- when the scan that says so started
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, project_id, ref, lockfile)
);

CREATE TABLE package (
    deployment_id BIGINT NOT NULL,
    id            BIGINT NOT NULL,
    ecosystem     TEXT   NOT NULL,
    name          TEXT   NOT NULL,
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, ecosystem, name)
);

CREATE TABLE package_version (
    deployment_id BIGINT NOT NULL,
    id            BIGINT NOT NULL,
    package_id    BIGINT NOT NULL,
    version       TEXT   NOT NULL,
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, package_id, version)
);

-- dependency is a narrow row per lockfile and package version. Ids grow within
-- a deployment in the order of commits, so they serve as cursor (semantics §8).
CREATE TABLE dependency (
    deployment_id      BIGINT   NOT NULL,
    id                 BIGINT   NOT NULL,
    inventory_id       BIGINT   NOT NULL,
    package_version_id BIGINT   NOT NULL,
    transitivity       SMALLINT NOT NULL,
    line               INTEGER  NOT NULL,
    purl               TEXT     NOT NULL,
    licenses_json      TEXT     NOT NULL,
    hashes_json        TEXT     NOT NULL,
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, inventory_id, package_version_id)
);
CREATE INDEX dependency_version ON dependency (deployment_id, package_version_id);

-- job is durable work; a lease that ran out frees it for another worker.
CREATE TABLE job (
    deployment_id BIGINT   NOT NULL,
    id            BIGINT   NOT NULL,
    kind          TEXT     NOT NULL,
    token         TEXT     NOT NULL,
    state         SMALLINT NOT NULL,
    attempt       INTEGER  NOT NULL,
    run_at        BIGINT   NOT NULL,
    lease_until   BIGINT,
    input_json    TEXT     NOT NULL,
    result        BYTEA,
    media_type    TEXT     NOT NULL,
    error         TEXT     NOT NULL,
    created_at    BIGINT   NOT NULL,
    finished_at   BIGINT,
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, token)
);
CREATE INDEX job_state ON job (state, run_at, id);

-- +goose Down
DROP TABLE job;
DROP TABLE dependency;
DROP TABLE package_version;
DROP TABLE package;
DROP TABLE inventory;
DROP TABLE audit_event;
DROP TABLE triage_event;
DROP TABLE change;
DROP TABLE finding_event;
DROP TABLE finding_body;
DROP TABLE finding;
DROP TABLE lineage_identity;
DROP TABLE lineage;
DROP TABLE policy_rule;
DROP TABLE policy;
DROP TABLE rule;
DROP TABLE scan;
DROP TABLE project_tag;
DROP TABLE project_alias;
DROP TABLE project;
DROP TABLE token;
DROP TABLE deployment;
DROP TABLE setting;
