-- The schema of Redoubt at version 82, from which databases are made; those that an earlier
-- development version upgraded to version 82 have it already. Later changes are migrations
-- with numbers of their own.
--
-- Every tenant table starts its primary key and its unique keys with deployment_id. Times are
-- microseconds since 1970 in UTC; NULL is "not yet". Small integers are the enumerations of
-- package redoubt. Columns that end in _json hold JSON that SQL never looks into.
-- BYTEA is a blob here.

-- +goose Up

-- setting holds what the server made for itself: keys, by name.
CREATE TABLE setting (
    name  TEXT  PRIMARY KEY,
    value BYTEA NOT NULL
);

CREATE TABLE deployment (
    id                   BIGINT   PRIMARY KEY,
    slug                 TEXT     NOT NULL UNIQUE,
    name                 TEXT     NOT NULL,
    created_at           BIGINT   NOT NULL,
    version              BIGINT   NOT NULL DEFAULT 0, -- grows with every commit that changes an answer
    pruned_version       BIGINT   NOT NULL DEFAULT 0, -- changes up to here are gone from the feed
    committed_at         BIGINT   NOT NULL DEFAULT 0, -- the clock value of the newest commit
    next_finding_id      BIGINT   NOT NULL DEFAULT 1,
    open_rules           SMALLINT NOT NULL DEFAULT 0, -- whether rules are served without a token
    keeps_code           SMALLINT NOT NULL DEFAULT 1, -- whether snippets are taken
    second_factor        SMALLINT NOT NULL DEFAULT 0, -- Whether people need one to work in the deployment.
    notified             BIGINT   NOT NULL DEFAULT 0, -- redoubt.NotificationEvents that some rule asks for
    start_left           SMALLINT NOT NULL DEFAULT 0, -- redoubt.FirstStart.Left
    start_blocks_nothing SMALLINT NOT NULL DEFAULT 0, -- redoubt.FirstStart.BlocksNothing
    -- How many wait to be decided: commits look for what ended where there are any.
    open_requests        BIGINT   NOT NULL DEFAULT 0
);

-- deployment_slug lists the deployments with the properties that are read without a query on
-- the node of the deployment.
CREATE TABLE deployment_slug (
    slug          TEXT     PRIMARY KEY,
    deployment_id BIGINT   NOT NULL UNIQUE,
    name          TEXT     NOT NULL,
    created_at    BIGINT   NOT NULL,
    second_factor SMALLINT NOT NULL
);

CREATE TABLE app_user (
    id               BIGINT   PRIMARY KEY,
    name             TEXT     NOT NULL UNIQUE,     -- lower case, to sign in with
    display_name     TEXT     NOT NULL,
    password_hash    TEXT     NOT NULL,            -- argon2id as a PHC string; empty: no password
    created_at       BIGINT   NOT NULL,
    disabled_at      BIGINT,
    signed_in_at     BIGINT,
    -- Since when the user has one. It is in the row that a sign-in locks, so that none steps over a factor that is
    -- set up at the same moment.
    second_factor_at BIGINT,
    address          TEXT     NOT NULL DEFAULT '', -- of mail; empty: the name, where that is one
    untold           SMALLINT NOT NULL DEFAULT 0   -- 1: wants no mail
);

-- advisory has one row per OSV record.
CREATE TABLE advisory (
    id        BIGINT   PRIMARY KEY,
    name      TEXT     NOT NULL UNIQUE, -- the record's own id
    digest    BYTEA    NOT NULL,        -- of the record as it came
    modified  BIGINT,
    withdrawn SMALLINT NOT NULL,
    facts     BYTEA    NOT NULL,        -- what decides; JSON
    text      BYTEA    NOT NULL         -- what people read; deflated JSON
);

-- advisory_alias_change lists names of vulnerabilities that got or lost aliases
-- with a version of the advisories, until all deployments are marked with it.
CREATE TABLE advisory_alias_change (
    version BIGINT NOT NULL,
    name    TEXT   NOT NULL, -- in upper case
    PRIMARY KEY (version, name)
);

-- advisory_card has one row per group of records: what lists and searches show
-- of it. It is derived, and missing until it is computed again.
CREATE TABLE advisory_card (
    group_id  BIGINT   PRIMARY KEY,
    shown     TEXT     NOT NULL,
    names     TEXT     NOT NULL,         -- all, in upper case, parted by spaces
    packages  TEXT     NOT NULL,         -- as npm/lodash, parted by line ends
    summary   TEXT     NOT NULL,
    severity  SMALLINT NOT NULL,
    score     DOUBLE PRECISION NOT NULL, -- CVSS; 0 where none is known
    malicious SMALLINT NOT NULL,
    withdrawn SMALLINT NOT NULL,
    modified  BIGINT
);

-- advisory_change is the feed: which packages a version touched.
CREATE TABLE advisory_change (
    version BIGINT NOT NULL,
    package TEXT   NOT NULL,
    PRIMARY KEY (version, package)
);

-- advisory_former has the groups that became part of another.
CREATE TABLE advisory_former (
    id      BIGINT PRIMARY KEY,
    into_id BIGINT NOT NULL
);
CREATE INDEX advisory_former_into ON advisory_former (into_id);

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

-- advisory_member puts records that share names into one group.
CREATE TABLE advisory_member (
    advisory_id BIGINT PRIMARY KEY,
    group_id    BIGINT NOT NULL
);
CREATE INDEX advisory_member_group ON advisory_member (group_id);

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

-- advisory_source is where advisories, scores and the catalogue of exploited
-- vulnerabilities came from, and how old they are.
CREATE TABLE advisory_source (
    location      TEXT   PRIMARY KEY,
    kind          TEXT   NOT NULL, -- osv, epss or kev
    etag          TEXT   NOT NULL,
    last_modified TEXT   NOT NULL,
    checked_at    BIGINT,          -- when it was last found to be as loaded
    loaded_at     BIGINT,          -- when it was last loaded
    newest_at     BIGINT,          -- of what it holds
    records       BIGINT NOT NULL,
    refused       BIGINT NOT NULL,
    error         TEXT   NOT NULL  -- of the last try; empty when it went well
);

-- advisory_state has one row. Records of a load under way are written under
-- version + 1; at its end that becomes the version, and everyone follows.
CREATE TABLE advisory_state (
    id               SMALLINT PRIMARY KEY,
    version          BIGINT   NOT NULL,
    scores_version   BIGINT   NOT NULL, -- grows with every load of EPSS scores
    changed_at       BIGINT,
    next_advisory_id BIGINT   NOT NULL,
    next_group_id    BIGINT   NOT NULL
);

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
    done_json     BYTEA,           -- what the scanner said at the end; NULL before, and once it is applied
    PRIMARY KEY (deployment_id, unique_id)
);
CREATE INDEX agent_scan_scan ON agent_scan (deployment_id, scan_id);

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
CREATE INDEX audit_event_action ON audit_event (deployment_id, action, id);
CREATE INDEX audit_event_actor ON audit_event (deployment_id, actor_json, id);

-- change is the feed of the index: what changed in which version.
CREATE TABLE change (
    deployment_id BIGINT   NOT NULL,
    version       BIGINT   NOT NULL,
    kind          SMALLINT NOT NULL,
    id            BIGINT   NOT NULL,
    deleted       SMALLINT NOT NULL,
    more          BIGINT   NOT NULL DEFAULT 0, -- how many ids behind id are meant too
    PRIMARY KEY (deployment_id, version, kind, id)
);

CREATE TABLE change_comment (
    deployment_id BIGINT   NOT NULL REFERENCES deployment (id),
    repository_id BIGINT   NOT NULL,
    number        BIGINT   NOT NULL, -- of the change request
    lineage_id    BIGINT   NOT NULL, -- 0: the summary
    host_id       TEXT     NOT NULL, -- empty: it is being written
    thread        TEXT     NOT NULL,
    path          TEXT     NOT NULL, -- empty of the summary
    body          TEXT     NOT NULL, -- as it was written last
    settled       SMALLINT NOT NULL,
    PRIMARY KEY (deployment_id, repository_id, number, lineage_id)
);

CREATE TABLE change_reply (
    deployment_id BIGINT   NOT NULL REFERENCES deployment (id),
    repository_id BIGINT   NOT NULL,
    number        BIGINT   NOT NULL, -- of the change request
    comment       TEXT     NOT NULL, -- scm.Comment.Key
    login         TEXT     NOT NULL, -- who wrote it, at the host
    outcome       TEXT     NOT NULL, -- what is answered; empty: nothing
    answered      SMALLINT NOT NULL, -- whether the host has the answer, or needs none
    decided_at    BIGINT   NOT NULL,
    PRIMARY KEY (deployment_id, repository_id, number, comment)
);

CREATE TABLE change_request (
    deployment_id   BIGINT   NOT NULL REFERENCES deployment (id),
    repository_id   BIGINT   NOT NULL,
    number          BIGINT   NOT NULL,           -- the host's
    title           TEXT     NOT NULL,
    author          TEXT     NOT NULL,
    web_url         TEXT     NOT NULL,
    state           SMALLINT NOT NULL,           -- redoubt.ChangeState
    head_commit     TEXT     NOT NULL,
    head_ref        TEXT     NOT NULL,
    fetch_ref       TEXT     NOT NULL,
    base_ref        TEXT     NOT NULL,
    base_commit     TEXT     NOT NULL,
    fork            SMALLINT NOT NULL,
    updated_at      BIGINT,
    told_until      BIGINT   NOT NULL DEFAULT 0, -- until when a server writes there, and no other may
    replies_read_at BIGINT,                      -- updated_at when replies were read last
    head_at         BIGINT,                      -- when we heard of head_commit; null: before this was kept
    PRIMARY KEY (deployment_id, repository_id, number)
);
CREATE INDEX change_request_head ON change_request (deployment_id, repository_id, head_commit);

CREATE TABLE change_time (
    deployment_id BIGINT NOT NULL,
    at            BIGINT NOT NULL,
    version       BIGINT NOT NULL, -- before the commit; -1: commits until then have no times
    PRIMARY KEY (deployment_id, at)
);

CREATE TABLE connection (
    deployment_id  BIGINT   NOT NULL REFERENCES deployment (id),
    id             BIGINT   NOT NULL,
    kind           SMALLINT NOT NULL,              -- redoubt.HostKind
    name           TEXT     NOT NULL,
    base_url       TEXT     NOT NULL,
    account        TEXT     NOT NULL,              -- the login, as the host told it
    credential     BYTEA    NOT NULL,              -- sealed under a key of the key file; empty: none
    webhook_secret BYTEA    NOT NULL,              -- sealed too
    follow_json    TEXT     NOT NULL,              -- globs of repositories that become projects by themselves
    created_at     BIGINT   NOT NULL,
    checked_at     BIGINT,
    problem        TEXT     NOT NULL,              -- of the last check; empty: none
    heard_at       BIGINT,                         -- of the newest webhook that was verified
    replies        SMALLINT NOT NULL DEFAULT 1,    -- redoubt.ReplyPolicy
    people_json    TEXT     NOT NULL DEFAULT '{}', -- redoubt.HostPeople
    -- older replies decide nothing; null: all count, as before this was kept
    replies_at     BIGINT,
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, name)
);

-- dependency is a narrow row per lockfile and package version. Ids grow within
-- a deployment in the order of commits, so they serve as cursor.
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
    -- The package of the same lockfile through which a package gets in, on the shortest way from what the project
    -- asks for itself; 0 where it is asked for, or where the lockfile does not tell. And how many packages of it ask
    -- for it.
    via_version_id     BIGINT   NOT NULL DEFAULT 0,
    requirers          INTEGER  NOT NULL DEFAULT 0,
    supplier           TEXT     NOT NULL DEFAULT '', -- As a bill of materials told; lockfiles do not.
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, inventory_id, package_version_id)
);
CREATE INDEX dependency_version ON dependency (deployment_id, package_version_id, inventory_id);

CREATE TABLE epss (
    cve        TEXT PRIMARY KEY,
    score      DOUBLE PRECISION NOT NULL,
    percentile DOUBLE PRECISION NOT NULL
);

-- exception includes ended exceptions until they are removed.
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

CREATE TABLE exception_request (
    deployment_id   BIGINT   NOT NULL REFERENCES deployment (id),
    id              BIGINT   NOT NULL, -- of the sequence of connection
    project_id      BIGINT   NOT NULL,
    state           SMALLINT NOT NULL, -- redoubt.ExceptionRequestState
    reason          TEXT     NOT NULL,
    triage_reason   SMALLINT NOT NULL, -- redoubt.TriageReason
    until_at        BIGINT,            -- the end that is wished; NULL: none
    asked_at        BIGINT   NOT NULL,
    asked_by_json   TEXT     NOT NULL,
    asker_id        BIGINT   NOT NULL, -- user; 0: no user asked
    decided_at      BIGINT,
    decided_by_json TEXT     NOT NULL,
    answer          TEXT     NOT NULL,
    granted_at      BIGINT,            -- when what was approved ends; NULL: never
    PRIMARY KEY (deployment_id, id)
);
CREATE INDEX exception_request_state ON exception_request (deployment_id, state, id);

CREATE TABLE exception_request_finding (
    deployment_id BIGINT NOT NULL REFERENCES deployment (id),
    request_id    BIGINT NOT NULL,
    number        INT    NOT NULL, -- from 1
    lineage_id    BIGINT NOT NULL,
    PRIMARY KEY (deployment_id, request_id, number)
);
CREATE INDEX exception_request_lineage ON exception_request_finding (deployment_id, lineage_id);

-- exemption_mark is how far a deployment's findings are in line.
CREATE TABLE exemption_mark (
    deployment_id BIGINT NOT NULL,
    version       BIGINT NOT NULL, -- of the deployment
    triage_event  BIGINT NOT NULL, -- the newest of the trail
    advisories    BIGINT NOT NULL, -- version of the advisories
    marked_at     BIGINT NOT NULL,
    PRIMARY KEY (deployment_id)
);

-- failed_attempt has what scanners could not do, the newest ones of each
-- deployment. Several steps of one run are one row.
CREATE TABLE failed_attempt (
    deployment_id BIGINT  NOT NULL, -- 0 where no token tells which
    name          TEXT    NOT NULL, -- the scanner's own name of its run, else one of ours
    at            BIGINT  NOT NULL, -- of the first step
    step          TEXT    NOT NULL, -- the first one that failed
    exit_code     INTEGER NOT NULL, -- 0 where it was not told
    cause         TEXT    NOT NULL, -- for people, without secrets
    scan_id       BIGINT  NOT NULL, -- 0 where no scan had begun
    token_id      TEXT    NOT NULL, -- public id; empty where no known token was sent
    repository    TEXT    NOT NULL,
    ref           TEXT    NOT NULL,
    agent         TEXT    NOT NULL,
    address       TEXT    NOT NULL,
    PRIMARY KEY (deployment_id, name)
);
CREATE INDEX failed_attempt_at ON failed_attempt (at);

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
    -- malicious, pro only, historical, seen by a full scan
    flags            SMALLINT NOT NULL,
    validation_state SMALLINT NOT NULL,
    secret_type      TEXT     NOT NULL,
    created_at       BIGINT   NOT NULL,
    relevant_since   BIGINT   NOT NULL,
    state_updated_at BIGINT,
    first_scan_id    BIGINT   NOT NULL,
    -- of the deployment at its last change
    version          BIGINT   NOT NULL,
    -- Zero where the match is of one line, or its lines were not told.
    edge_hash        BYTEA    NOT NULL DEFAULT X'00000000000000000000000000000000',
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, project_id, ref, source, identity_kind, identity_hash)
);
CREATE INDEX finding_lineage ON finding (deployment_id, lineage_id);
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

CREATE TABLE finding_comment (
    deployment_id     BIGINT NOT NULL REFERENCES deployment (id),
    id                BIGINT NOT NULL, -- of the sequence of connection
    lineage_id        BIGINT NOT NULL,
    body              TEXT   NOT NULL, -- empty once it was withdrawn
    written_at        BIGINT NOT NULL,
    written_by_json   TEXT   NOT NULL,
    author_id         BIGINT NOT NULL, -- user; 0: no user wrote it
    withdrawn_at      BIGINT,          -- NULL: it was not
    withdrawn_by_json TEXT   NOT NULL,
    PRIMARY KEY (deployment_id, id)
);
CREATE INDEX finding_comment_author ON finding_comment (deployment_id, author_id, written_at);
CREATE INDEX finding_comment_lineage ON finding_comment (deployment_id, lineage_id, id);

CREATE TABLE finding_comment_mention (
    deployment_id BIGINT NOT NULL REFERENCES deployment (id),
    comment_id    BIGINT NOT NULL,
    user_id       BIGINT NOT NULL,
    name          TEXT   NOT NULL, -- of the user, which never changes
    PRIMARY KEY (deployment_id, comment_id, user_id)
);
CREATE INDEX finding_comment_mention_user ON finding_comment_mention (deployment_id, user_id, comment_id);

-- finding_event says when a finding changed its state or place, and what did it.
CREATE TABLE finding_event (
    deployment_id BIGINT NOT NULL,
    id            BIGINT NOT NULL,
    finding_id    BIGINT NOT NULL,
    at            BIGINT NOT NULL,
    scan_id       BIGINT NOT NULL,
    kind          TEXT   NOT NULL, -- fixed, returned, removed, moved, muted, unmuted
    detail_json   TEXT   NOT NULL,
    PRIMARY KEY (deployment_id, id)
);
CREATE INDEX finding_event_finding ON finding_event (deployment_id, finding_id);

-- finding_snippet has the lines around a finding that is there, secrets taken
-- out of them. Those of a finding that is fixed or removed go.
CREATE TABLE finding_snippet (
    deployment_id BIGINT  NOT NULL,
    finding_id    BIGINT  NOT NULL,
    scan_id       BIGINT  NOT NULL, -- that saw the finding there
    commit_hash   TEXT    NOT NULL,
    path          TEXT    NOT NULL, -- where the finding was then
    line          INTEGER NOT NULL, -- the finding's first then
    end_line      INTEGER NOT NULL, -- and its last
    first_line    INTEGER NOT NULL, -- of those that are kept
    code          TEXT    NOT NULL, -- with line feeds between the lines
    PRIMARY KEY (deployment_id, finding_id)
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
CREATE INDEX finding_subject_vulnerability ON finding_subject (deployment_id, UPPER(vulnerability));

CREATE TABLE index_checkpoint (
    deployment_id BIGINT NOT NULL REFERENCES deployment (id),
    id            TEXT   NOT NULL, -- random, in the file too
    version       BIGINT NOT NULL, -- of the deployment, that the file is of
    created_at    BIGINT NOT NULL, -- clock of the commit; the oldest go
    PRIMARY KEY (deployment_id, id)
);

-- inventory is what is in force about one lockfile of one ref.
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

-- inventory_content has one row per lockfile that holds dependencies; it is read and
-- written as a whole. The format is in inventory_content.go.
CREATE TABLE inventory_content (
    deployment_id BIGINT NOT NULL,
    inventory_id  BIGINT NOT NULL,
    first_id      BIGINT NOT NULL, -- dependency.id
    last_id       BIGINT NOT NULL, -- dependency.id
    content       BYTEA  NOT NULL, -- what its dependencies are filtered by
    PRIMARY KEY (deployment_id, inventory_id)
);

-- inventory_graph has one row per lockfile that tells; it is read and written as a
-- whole. The format is in inventory_graph.go.
CREATE TABLE inventory_graph (
    deployment_id BIGINT NOT NULL,
    inventory_id  BIGINT NOT NULL,
    edges         BYTEA  NOT NULL, -- pairs of package_version.id
    PRIMARY KEY (deployment_id, inventory_id)
);

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
    -- Kind and id of the actor, as token:7; empty for work without a requester.
    requester     TEXT     NOT NULL DEFAULT '',
    claim         BIGINT   NOT NULL DEFAULT 0,
    subject       TEXT     NOT NULL DEFAULT '', -- empty: it is about something of its own
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, token)
);
CREATE INDEX job_finished ON job (deployment_id, kind, finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX job_kind ON job (deployment_id, kind, requester);
CREATE INDEX job_state ON job (deployment_id, kind, state, run_at, id);

-- job_due tells in which tenants there may be work of a kind, and from when on: never later
-- than there is, and perhaps sooner.
CREATE TABLE job_due (
    deployment_id BIGINT NOT NULL,
    kind          TEXT   NOT NULL,
    due_at        BIGINT NOT NULL,
    turn_at       BIGINT NOT NULL DEFAULT 0, -- last check; the oldest is checked next
    PRIMARY KEY (deployment_id, kind)
);

-- kept_answer has the answers to writes that came with a key, written by the
-- transaction that did the work. Both the hours and the bytes of a deployment
-- are bounded: what is old, or too far behind, is forgotten.
CREATE TABLE kept_answer (
    deployment_id BIGINT NOT NULL,
    idem_key      TEXT   NOT NULL, -- as the client sent it
    request       BYTEA  NOT NULL, -- a digest of what was asked for
    answer        BYTEA  NOT NULL, -- packed
    at            BIGINT NOT NULL,
    ends          BIGINT NOT NULL, -- bytes of all answers of the deployment up to this one: rises from row to row
    PRIMARY KEY (deployment_id, idem_key)
);
CREATE INDEX kept_answer_at ON kept_answer (deployment_id, at);
CREATE INDEX kept_answer_ends ON kept_answer (deployment_id, ends);

CREATE TABLE kev (
    cve        TEXT     PRIMARY KEY,
    added_at   BIGINT,
    due_at     BIGINT,
    ransomware SMALLINT NOT NULL,
    name       TEXT     NOT NULL,
    action     TEXT     NOT NULL
);

-- lineage is one finding through refs, moves and changed rule texts; triage and
-- annotations hang here.
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
    triage_until     BIGINT,                       -- NULL: for ever
    assignee         TEXT     NOT NULL DEFAULT '', -- name of a user; empty: unassigned
    stops            TEXT     NOT NULL DEFAULT '', -- redoubt.Stops
    overdue_told     INTEGER,                      -- the day of the due date, from 1970; NULL: none
    PRIMARY KEY (deployment_id, id)
);
CREATE INDEX lineage_automatic ON lineage (deployment_id, triaged_by_json) WHERE automatic = 1;
CREATE INDEX lineage_project ON lineage (deployment_id, project_id);
CREATE INDEX lineage_until ON lineage (deployment_id, triage_until) WHERE triage_until IS NOT NULL;

CREATE TABLE lineage_identity (
    deployment_id BIGINT   NOT NULL,
    project_id    BIGINT   NOT NULL,
    kind          SMALLINT NOT NULL,
    hash          BYTEA    NOT NULL,
    lineage_id    BIGINT   NOT NULL,
    PRIMARY KEY (deployment_id, project_id, kind, hash)
);
CREATE INDEX lineage_identity_lineage ON lineage_identity (deployment_id, lineage_id);

-- login_request has the scanners that wait for a token, until they get it. The
-- token is made when it is fetched, so none is ever kept.
CREATE TABLE login_request (
    deployment_id BIGINT NOT NULL,            -- 0 until it is approved
    key_hash      BYTEA  NOT NULL,            -- SHA-256 of the key that the scanner asks with
    code          TEXT   NOT NULL,            -- what people call it; the key does not follow from it
    address       TEXT   NOT NULL,            -- of who asked
    agent         TEXT   NOT NULL,
    asked_at      BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL,
    token_json    TEXT   NOT NULL,            -- the token to make, without its secret; empty before
    approved_json TEXT   NOT NULL,            -- redoubt.Actor who approved it; empty before
    program_json  TEXT   NOT NULL DEFAULT '', -- redoubt.LoginProgram; empty for a scanner
    PRIMARY KEY (deployment_id, key_hash),
    UNIQUE (deployment_id, code)
);

-- managed_plan says when full runs of a project are queued by themselves; a project
-- without a row is scanned weekly, where managed scans are switched on.
CREATE TABLE managed_plan (
    deployment_id BIGINT   NOT NULL,
    project_id    BIGINT   NOT NULL,
    every         SMALLINT NOT NULL,
    queued_at     BIGINT   NOT NULL,
    PRIMARY KEY (deployment_id, project_id)
);

-- managed_run has one row per scan that was asked for. Its states are those of
-- redoubt.RunState; only the newest claim may change one that has begun.
CREATE TABLE managed_run (
    deployment_id BIGINT   NOT NULL,
    id            BIGINT   NOT NULL,
    project_id    BIGINT   NOT NULL,
    ref           TEXT     NOT NULL, -- empty is the remote's default branch
    commit_id     TEXT     NOT NULL, -- empty is the newest
    base          TEXT     NOT NULL, -- empty of a full run
    kind          SMALLINT NOT NULL,
    cause         SMALLINT NOT NULL,
    change_number BIGINT   NOT NULL, -- 0 for no change request
    host          TEXT     NOT NULL,
    state         SMALLINT NOT NULL,
    attempt       INTEGER  NOT NULL,
    claim         BIGINT   NOT NULL,
    runner_id     BIGINT   NOT NULL,
    token_id      BIGINT   NOT NULL, -- dies with the attempt; 0 for none
    scan_id       BIGINT   NOT NULL,
    failure       SMALLINT NOT NULL,
    reason        TEXT     NOT NULL,
    log_size      BIGINT   NOT NULL,
    due_at        BIGINT   NOT NULL,
    lease_until   BIGINT,
    created_at    BIGINT   NOT NULL,
    begun_at      BIGINT,
    ended_at      BIGINT,
    PRIMARY KEY (deployment_id, id)
);
CREATE INDEX managed_run_project ON managed_run (deployment_id, project_id, id);
CREATE INDEX managed_run_state ON managed_run (deployment_id, state, due_at, id);

-- managed_run_log is what the runner of the newest attempt said, in pieces.
CREATE TABLE managed_run_log (
    deployment_id BIGINT NOT NULL,
    run_id        BIGINT NOT NULL,
    start         BIGINT NOT NULL, -- bytes before it
    content       BYTEA  NOT NULL,
    PRIMARY KEY (deployment_id, run_id, start)
);

CREATE TABLE notification (
    deployment_id BIGINT   NOT NULL REFERENCES deployment (id),
    id            BIGINT   NOT NULL, -- of the sequence of connection
    rule_id       BIGINT   NOT NULL,
    receiver_json TEXT     NOT NULL, -- redoubt.NotificationReceiver
    event_key     TEXT     NOT NULL, -- identifies the event: sent once per rule and receiver
    message_json  TEXT     NOT NULL, -- redoubt.NotificationMessage
    state         SMALLINT NOT NULL, -- redoubt.NotificationState
    created_at    BIGINT   NOT NULL,
    due_at        BIGINT   NOT NULL,
    held_until    BIGINT,            -- end of the delivery lease
    ended_at      BIGINT,
    attempts      INTEGER  NOT NULL,
    status        INTEGER  NOT NULL, -- of HTTP; 0: no answer
    answer        TEXT     NOT NULL, -- its beginning
    problem       TEXT     NOT NULL, -- for people; empty: none
    PRIMARY KEY (deployment_id, id)
);
CREATE UNIQUE INDEX notification_event ON notification (deployment_id, event_key, rule_id, receiver_json);
CREATE INDEX notification_log ON notification (deployment_id, rule_id, id);
CREATE INDEX notification_queue ON notification (deployment_id, state, receiver_json, id);

CREATE TABLE notification_rule (
    deployment_id   BIGINT   NOT NULL REFERENCES deployment (id),
    id              BIGINT   NOT NULL, -- of the sequence of connection
    name            TEXT     NOT NULL,
    events          BIGINT   NOT NULL, -- redoubt.NotificationEvents
    min_severity    SMALLINT NOT NULL, -- redoubt.Severity; 0: any
    products        SMALLINT NOT NULL, -- redoubt.Products; 0: all
    filter          TEXT     NOT NULL, -- a query of the findings pages
    missing_days    INTEGER  NOT NULL,
    channel         SMALLINT NOT NULL, -- redoubt.NotificationChannel
    target          BYTEA    NOT NULL, -- sealed redoubt.NotificationTarget
    host            TEXT     NOT NULL, -- of it, for people
    to_json         TEXT     NOT NULL, -- addresses of mail
    digest          SMALLINT NOT NULL, -- redoubt.NotificationDigest
    paused          SMALLINT NOT NULL,
    problem         TEXT     NOT NULL, -- for people; empty: none
    created_at      BIGINT   NOT NULL,
    created_by_json TEXT     NOT NULL,
    checked_at      BIGINT,            -- until when missing scans were looked for
    PRIMARY KEY (deployment_id, id)
);
CREATE UNIQUE INDEX notification_rule_name ON notification_rule (deployment_id, name);

-- oauth_grant is a code until it is exchanged, then a token that can be renewed.
CREATE TABLE oauth_grant (
    deployment_id BIGINT NOT NULL REFERENCES deployment (id),
    -- SHA-256 of the code, retained after use to detect reuse
    code_hash     BYTEA  NOT NULL,
    token_id      BIGINT NOT NULL,           -- 0 until the code was exchanged
    client_hash   BYTEA  NOT NULL,           -- SHA-256 of the client's id
    redirect_uri  TEXT   NOT NULL,
    challenge     TEXT   NOT NULL,           -- S256 of the client's verifier
    resource      TEXT   NOT NULL,
    generation    BIGINT NOT NULL,           -- of the refresh token in force; 0 before there is one
    refresh_hash  BYTEA  NOT NULL,           -- SHA-256 of it; empty before
    expires_at    BIGINT NOT NULL,           -- of the code, then of the refresh token
    token_json    TEXT   NOT NULL,           -- the token to make for the code, without its secret
    approved_json TEXT   NOT NULL,           -- redoubt.Actor who approved it
    -- Id of the user; 0 of a code that was not exchanged when this column came, for a minute.
    user_id       BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (deployment_id, code_hash)
);
CREATE INDEX oauth_grant_token ON oauth_grant (deployment_id, token_id);
CREATE INDEX oauth_grant_user ON oauth_grant (deployment_id, user_id);

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

CREATE TABLE policy (
    deployment_id   BIGINT   NOT NULL,
    id              BIGINT   NOT NULL,
    name            TEXT     NOT NULL,
    slug            TEXT     NOT NULL,
    product         SMALLINT NOT NULL,
    is_default      SMALLINT NOT NULL,
    scope_json      TEXT     NOT NULL DEFAULT '{}', -- redoubt.PolicyScope; empty is every project
    excludes_json   TEXT     NOT NULL DEFAULT '[]', -- globs of paths that scanners leave out
    block_all       SMALLINT NOT NULL DEFAULT 0,    -- not only what the primary branch does not have
    conditions_json TEXT     NOT NULL DEFAULT '[]', -- redoubt.PolicyCondition, or-ed
    -- 0 where the policy never had a condition, or none since this is here: those it has count then.
    last_condition  BIGINT   NOT NULL DEFAULT 0,
    due_json        TEXT     NOT NULL DEFAULT '{}', -- redoubt.DueDays
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, slug)
);

CREATE TABLE policy_rule (
    deployment_id  BIGINT   NOT NULL,
    id             BIGINT   NOT NULL,
    policy_id      BIGINT   NOT NULL,
    rule_name      TEXT     NOT NULL,
    rule_id        BIGINT   NOT NULL,           -- its newest content
    mode           SMALLINT NOT NULL,
    served         SMALLINT NOT NULL,
    last_change_at BIGINT   NOT NULL,
    last_change_by TEXT     NOT NULL,
    removed        SMALLINT NOT NULL DEFAULT 0, -- A removed rule keeps its row, for its findings still name it.
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, policy_id, rule_name)
);
CREATE INDEX policy_rule_name ON policy_rule (deployment_id, rule_name);

CREATE TABLE project (
    deployment_id  BIGINT   NOT NULL REFERENCES deployment (id),
    id             BIGINT   NOT NULL,
    name           TEXT     NOT NULL,
    url            TEXT     NOT NULL,
    created_at     BIGINT   NOT NULL,
    default_branch TEXT     NOT NULL,            -- empty before the first full scan of a branch
    primary_branch TEXT     NOT NULL,            -- empty follows the default branch
    latest_scan_at BIGINT,
    visibility     SMALLINT NOT NULL,
    managed_diff   SMALLINT NOT NULL,
    managed_full   SMALLINT NOT NULL,
    repo_id        TEXT     NOT NULL,            -- the host's own id; empty when unknown
    bound_repo_id  TEXT     NOT NULL DEFAULT '', -- A hash of the token's globs and the id, empty where none was told.
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, name)
);
CREATE INDEX project_bound_repo_id ON project (deployment_id, bound_repo_id);
CREATE INDEX project_repo_id ON project (deployment_id, repo_id);

-- project_alias keeps old names answering.
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

CREATE TABLE report_memo (
    deployment_id BIGINT NOT NULL REFERENCES deployment (id),
    project_id    BIGINT NOT NULL,
    ref           TEXT   NOT NULL,
    source        TEXT   NOT NULL,
    memo          BYTEA  NOT NULL, -- encodeReportMemo
    PRIMARY KEY (deployment_id, project_id, ref, source)
);

CREATE TABLE repository (
    deployment_id  BIGINT   NOT NULL REFERENCES deployment (id),
    id             BIGINT   NOT NULL,            -- of the sequence of connection
    connection_id  BIGINT   NOT NULL,
    host_id        TEXT     NOT NULL,            -- the host's own, which stays when it is renamed
    full_name      TEXT     NOT NULL,
    default_branch TEXT     NOT NULL,
    archived       SMALLINT NOT NULL,
    private        SMALLINT NOT NULL,
    clone_url      TEXT     NOT NULL,
    web_url        TEXT     NOT NULL,
    project_id     BIGINT   NOT NULL,            -- 0: is no project
    hook_id        TEXT     NOT NULL,            -- the host's id of the webhook made there; empty: none
    gone_at        BIGINT,                       -- since when the host tells of it no more
    head_branch    TEXT     NOT NULL DEFAULT '', -- without refs/heads/; empty: none was looked at
    head_commit    TEXT     NOT NULL DEFAULT '',
    polled_at      BIGINT,                       -- null: never
    -- since when the webhook tells this server; null: none, or from before this was kept
    hooked_at      BIGINT,
    -- end of the lease for reading webhooks of the host; null: none
    hook_until     BIGINT,
    heard_at       BIGINT,                       -- of the newest webhook about a push or a change request; null: none
    -- when polling found the first push since that no webhook told of; null: none
    missed_at      BIGINT,
    missed         TEXT     NOT NULL DEFAULT '', -- the newest such push, for people
    hook_lacks     TEXT     NOT NULL DEFAULT '', -- what is wrong with it there, for people; empty: nothing
    hook_looked_at BIGINT,                       -- null: never
    hook_address   TEXT     NOT NULL DEFAULT '', -- empty: none, or made before this was kept and not looked at since
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, connection_id, host_id)
);
CREATE UNIQUE INDEX repository_project ON repository (deployment_id, project_id) WHERE project_id <> 0;

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

-- runner has one row per program that asked for runs.
CREATE TABLE runner (
    deployment_id BIGINT NOT NULL,
    id            BIGINT NOT NULL,
    token_id      BIGINT NOT NULL,
    name          TEXT   NOT NULL,
    labels_json   TEXT   NOT NULL,
    version       TEXT   NOT NULL,
    isolation     TEXT   NOT NULL,
    first_at      BIGINT NOT NULL,
    seen_at       BIGINT NOT NULL,
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, token_id, name)
);

CREATE TABLE saved_view (
    deployment_id   BIGINT   NOT NULL REFERENCES deployment (id),
    id              BIGINT   NOT NULL, -- of the sequence of connection
    owner_id        BIGINT   NOT NULL, -- user; 0: the deployment
    issue_type      SMALLINT NOT NULL, -- redoubt.IssueType
    name            TEXT     NOT NULL,
    query           TEXT     NOT NULL, -- of the findings page
    created_at      BIGINT   NOT NULL,
    created_by_json TEXT     NOT NULL,
    PRIMARY KEY (deployment_id, id)
);
CREATE UNIQUE INDEX saved_view_name ON saved_view (deployment_id, owner_id, name);

CREATE TABLE saved_view_default (
    deployment_id BIGINT   NOT NULL REFERENCES deployment (id),
    user_id       BIGINT   NOT NULL,
    issue_type    SMALLINT NOT NULL, -- redoubt.IssueType
    view_id       BIGINT   NOT NULL,
    PRIMARY KEY (deployment_id, user_id, issue_type)
);
CREATE INDEX saved_view_default_view ON saved_view_default (deployment_id, view_id);

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
    products      SMALLINT NOT NULL,              -- bit set of issue types
    status        SMALLINT NOT NULL,
    outcome       SMALLINT NOT NULL,
    code          INTEGER  NOT NULL,
    secrets       INTEGER  NOT NULL,
    supply_chain  INTEGER  NOT NULL,
    total_micros  BIGINT,
    digest        BYTEA    NOT NULL,
    error         TEXT     NOT NULL,
    unread_json   TEXT     NOT NULL DEFAULT '[]', -- lockfiles that the scanner could not read
    -- the commit's clock, rising; of scans before this column their id, which is less; 0 when not applied
    applied_at    BIGINT   NOT NULL DEFAULT 0,
    run_id        BIGINT   NOT NULL DEFAULT 0,    -- 0: of none, or from before this was kept
    PRIMARY KEY (deployment_id, id)
);
CREATE INDEX scan_project ON scan (deployment_id, project_id, started_at, id);
CREATE INDEX scan_started ON scan (deployment_id, started_at, id);
CREATE INDEX scan_stream ON scan (deployment_id, project_id, ref, source, outcome, applied_at);

-- scan_account has the scans that ended since it is there.
CREATE TABLE scan_account (
    deployment_id BIGINT  NOT NULL,
    scan_id       BIGINT  NOT NULL,
    -- ids of the findings that it reported and that are not muted: runs, as distance and length
    reported      BYTEA   NOT NULL,
    gaps_json     TEXT    NOT NULL, -- redoubt.ScanGap: what it did not look at, the first of them
    all_gaps      INTEGER NOT NULL, -- how many there were
    gate_json     TEXT    NOT NULL, -- redoubt.ScanGate; empty where it did not fail its build
    PRIMARY KEY (deployment_id, scan_id)
);

-- secret_rule names the rules of a tool that look for secrets, as some upload
-- said. A name is settled once the findings of code that it had are rewritten.
CREATE TABLE secret_rule (
    deployment_id BIGINT   NOT NULL,
    tool          TEXT     NOT NULL,
    name          TEXT     NOT NULL,
    settled       SMALLINT NOT NULL,
    PRIMARY KEY (deployment_id, tool, name)
);

CREATE TABLE ticket (
    deployment_id   BIGINT   NOT NULL REFERENCES deployment (id),
    id              BIGINT   NOT NULL, -- of the sequence of connection
    state           SMALLINT NOT NULL, -- redoubt.TicketState
    url             TEXT     NOT NULL, -- empty until it is created
    slug            TEXT     NOT NULL, -- what people call it
    connection_id   BIGINT   NOT NULL, -- 0: none reaches its tracker
    project         TEXT     NOT NULL, -- of the tracker
    tracker_key     TEXT     NOT NULL, -- the tracker's own id
    marker          TEXT     NOT NULL, -- written into one that we create
    problem         TEXT     NOT NULL, -- for people; empty: none
    created_at      BIGINT   NOT NULL,
    created_by_json TEXT     NOT NULL,
    checked_at      BIGINT,            -- when its tracker was asked last
    PRIMARY KEY (deployment_id, id)
);
CREATE INDEX ticket_url ON ticket (deployment_id, url);

-- ticket_finding is what a ticket is about. A lineage has one ticket, which its annotations show.
CREATE TABLE ticket_finding (
    deployment_id BIGINT NOT NULL REFERENCES deployment (id),
    ticket_id     BIGINT NOT NULL,
    finding_id    BIGINT NOT NULL,
    lineage_id    BIGINT NOT NULL,
    PRIMARY KEY (deployment_id, lineage_id)
);
CREATE INDEX ticket_finding_ticket ON ticket_finding (deployment_id, ticket_id);

-- ticket_setting is where a deployment's tickets are made.
CREATE TABLE ticket_setting (
    deployment_id BIGINT NOT NULL REFERENCES deployment (id),
    setting_json  TEXT   NOT NULL, -- redoubt.TicketSetting
    PRIMARY KEY (deployment_id)
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
    user_id       BIGINT,          -- A token that a user made can do no more than the user can.
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, hash),
    UNIQUE (deployment_id, public_id)
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

-- user_half_session has the sign-ins that still wait for the second factor. A table
-- of its own, so that nothing takes one of them for a session.
CREATE TABLE user_half_session (
    hash       BYTEA    PRIMARY KEY, -- SHA-256 of the cookie
    user_id    BIGINT   NOT NULL REFERENCES app_user (id),
    method     TEXT     NOT NULL,    -- what was shown first
    tries      SMALLINT NOT NULL,
    expires_at BIGINT   NOT NULL
);
CREATE INDEX user_half_session_user ON user_half_session (user_id);

-- user_identity says which user an identity provider's subject is.
CREATE TABLE user_identity (
    issuer  TEXT   NOT NULL,
    subject TEXT   NOT NULL,
    user_id BIGINT NOT NULL REFERENCES app_user (id),
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX user_identity_user ON user_identity (user_id);

CREATE TABLE user_invitation (
    deployment_id BIGINT   NOT NULL REFERENCES deployment (id),
    id            BIGINT   NOT NULL, -- of the sequence of user_link
    name          TEXT     NOT NULL, -- of who may accept it
    new_name      TEXT     NOT NULL, -- of the user whom its link makes
    display_name  TEXT     NOT NULL,
    role          SMALLINT NOT NULL,
    hash          BYTEA    NOT NULL, -- SHA-256 of the code in the link
    invited_by    TEXT     NOT NULL,
    created_at    BIGINT   NOT NULL,
    expires_at    BIGINT   NOT NULL,
    declined_at   BIGINT,            -- who invited is not told
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, name)
);
CREATE INDEX user_invitation_hash ON user_invitation (hash);
CREATE INDEX user_invitation_name ON user_invitation (name);

-- user_link has the unused one-time links.
CREATE TABLE user_link (
    id            BIGINT PRIMARY KEY,
    hash          BYTEA  NOT NULL UNIQUE, -- SHA-256 of the code in the link
    kind          TEXT   NOT NULL,
    user_id       BIGINT,                 -- NULL of a setup link
    deployment_id BIGINT,                 -- of which a setup link makes an admin
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL
);

CREATE TABLE user_passkey (
    id            BIGINT PRIMARY KEY,     -- of the sequence of user_link
    user_id       BIGINT NOT NULL REFERENCES app_user (id),
    credential_id BYTEA  NOT NULL UNIQUE, -- the authenticator's own name for it
    credential    BYTEA  NOT NULL,        -- public key, counter and flags, sealed under a key of the key file
    name          TEXT   NOT NULL,
    created_at    BIGINT NOT NULL,
    used_at       BIGINT
);
CREATE INDEX user_passkey_user ON user_passkey (user_id);

CREATE TABLE user_recovery_code (
    user_id BIGINT NOT NULL REFERENCES app_user (id),
    hash    BYTEA  NOT NULL, -- SHA-256 of 80 random bits
    PRIMARY KEY (user_id, hash)
);

CREATE TABLE user_role (
    deployment_id BIGINT   NOT NULL REFERENCES deployment (id),
    user_id       BIGINT   NOT NULL REFERENCES app_user (id),
    role          SMALLINT NOT NULL,
    PRIMARY KEY (deployment_id, user_id)
);
CREATE INDEX user_role_user ON user_role (user_id);

CREATE TABLE user_session (
    id         BIGINT PRIMARY KEY,
    hash       BYTEA  NOT NULL UNIQUE, -- SHA-256 of the cookie
    user_id    BIGINT NOT NULL REFERENCES app_user (id),
    method     TEXT   NOT NULL,
    address    TEXT   NOT NULL,
    agent      TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX user_session_user ON user_session (user_id);

CREATE TABLE user_totp (
    user_id   BIGINT PRIMARY KEY REFERENCES app_user (id),
    secret    BYTEA  NOT NULL, -- sealed under a key of the key file
    used_step BIGINT NOT NULL  -- of the newest code taken, in 30 seconds since 1970: no code is taken twice
);

-- user_used_challenge has what passkeys have signed to sign in, as long as it could
-- be shown again.
CREATE TABLE user_used_challenge (
    hash       BYTEA  PRIMARY KEY, -- SHA-256
    expires_at BIGINT NOT NULL
);

-- vex_document is a document that is held; a newer one of its name and scope
-- takes its place.
CREATE TABLE vex_document (
    deployment_id BIGINT   NOT NULL,
    id            BIGINT   NOT NULL,
    name          TEXT     NOT NULL,           -- its own id: serial number, IRI, or the source that said it in an SBOM
    project_id    BIGINT   NOT NULL,           -- 0 is all that projects_json allows
    ref           TEXT     NOT NULL,           -- '' is every ref
    projects_json TEXT     NOT NULL,           -- globs; none is every project
    format        TEXT     NOT NULL,
    author        TEXT     NOT NULL,
    file          TEXT     NOT NULL,           -- that it was read from
    version       BIGINT   NOT NULL,           -- 0 where it tells none
    issued_at     BIGINT,                      -- NULL where it does not tell
    statements    BIGINT   NOT NULL,           -- how many
    received_at   BIGINT   NOT NULL,
    received_by   TEXT     NOT NULL,
    proposed      SMALLINT NOT NULL DEFAULT 0,
    bytes         BIGINT   NOT NULL DEFAULT 0, -- of its statements; of those before this column, characters
    PRIMARY KEY (deployment_id, id)
);
CREATE UNIQUE INDEX vex_document_name ON vex_document (deployment_id, project_id, ref, projects_json, name, proposed);
CREATE INDEX vex_document_proposed ON vex_document (deployment_id, proposed, id);

-- vex_name finds statements by each name of their vulnerability, in upper case.
CREATE TABLE vex_name (
    deployment_id BIGINT NOT NULL,
    name          TEXT   NOT NULL,
    document_id   BIGINT NOT NULL,
    place         BIGINT NOT NULL,
    PRIMARY KEY (deployment_id, name, document_id, place)
);

-- vex_refusal is a statement, or a whole document, that was refused of a project.
CREATE TABLE vex_refusal (
    deployment_id BIGINT NOT NULL,
    project_id    BIGINT NOT NULL,
    statement     TEXT   NOT NULL, -- redoubt.VEXStatement.ID, or a hash over those of a document
    refused_at    BIGINT NOT NULL,
    PRIMARY KEY (deployment_id, project_id, statement)
);

-- vex_statement is one thing that a document says.
CREATE TABLE vex_statement (
    deployment_id  BIGINT NOT NULL,
    document_id    BIGINT NOT NULL,
    place          BIGINT NOT NULL, -- in the document, from 0
    statement_json TEXT   NOT NULL, -- redoubt.VEXStatement
    PRIMARY KEY (deployment_id, document_id, place)
);

-- webhook_delivery is what a host told: each once, however often it is sent.
CREATE TABLE webhook_delivery (
    deployment_id BIGINT NOT NULL REFERENCES deployment (id),
    id            BIGINT NOT NULL,            -- of the sequence of connection
    connection_id BIGINT NOT NULL,
    delivery      TEXT   NOT NULL,            -- the host's id of it, or a hash of what was told
    event         TEXT   NOT NULL,
    repository    TEXT   NOT NULL,            -- the host's id; empty: none
    received_at   BIGINT NOT NULL,
    outcome       TEXT   NOT NULL,            -- for people; empty until it was worked off
    head_commit   TEXT   NOT NULL DEFAULT '', -- that it tells of; empty: none
    PRIMARY KEY (deployment_id, id),
    UNIQUE (deployment_id, connection_id, delivery)
);

CREATE TABLE sequence (
    name TEXT   PRIMARY KEY,
    next BIGINT NOT NULL
);
INSERT INTO sequence (name, next) VALUES
    ('deployment', 1),
    ('token', 1),
    ('project', 1),
    ('scan', 1),
    ('rule', 1),
    ('policy', 1),
    ('policy_rule', 1),
    ('lineage', 1),
    ('finding_event', 1),
    ('triage_event', 1),
    ('audit_event', 1),
    ('inventory', 1),
    ('package', 1),
    ('package_version', 1),
    ('dependency', 1),
    ('job', 1),
    ('app_user', 1),
    ('user_session', 1),
    ('user_link', 1),
    ('exception', 1),
    ('vex_document', 1),
    ('connection', 1),
    ('managed_run', 1),
    ('runner', 1);

INSERT INTO advisory_state (id, version, scores_version, next_advisory_id, next_group_id) VALUES (1, 0, 0, 1, 1);
