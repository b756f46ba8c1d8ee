advisory.id bigint NOT NULL
advisory.name text NOT NULL
advisory.digest bytea NOT NULL
advisory.modified bigint
advisory.withdrawn smallint NOT NULL
advisory.facts bytea NOT NULL
advisory.text bytea NOT NULL
CREATE UNIQUE INDEX advisory_name_key ON public.advisory USING btree (name)
CREATE UNIQUE INDEX advisory_pkey ON public.advisory USING btree (id)
advisory PRIMARY KEY (id)
advisory UNIQUE (name)
advisory_alias_change.version bigint NOT NULL
advisory_alias_change.name text NOT NULL
CREATE UNIQUE INDEX advisory_alias_change_pkey ON public.advisory_alias_change USING btree (version, name)
advisory_alias_change PRIMARY KEY (version, name)
advisory_card.group_id bigint NOT NULL
advisory_card.shown text NOT NULL
advisory_card.names text NOT NULL
advisory_card.packages text NOT NULL
advisory_card.summary text NOT NULL
advisory_card.severity smallint NOT NULL
advisory_card.score double precision NOT NULL
advisory_card.malicious smallint NOT NULL
advisory_card.withdrawn smallint NOT NULL
advisory_card.modified bigint
CREATE UNIQUE INDEX advisory_card_pkey ON public.advisory_card USING btree (group_id)
advisory_card PRIMARY KEY (group_id)
advisory_change.version bigint NOT NULL
advisory_change.package text NOT NULL
CREATE UNIQUE INDEX advisory_change_pkey ON public.advisory_change USING btree (version, package)
advisory_change PRIMARY KEY (version, package)
advisory_former.id bigint NOT NULL
advisory_former.into_id bigint NOT NULL
CREATE INDEX advisory_former_into ON public.advisory_former USING btree (into_id)
CREATE UNIQUE INDEX advisory_former_pkey ON public.advisory_former USING btree (id)
advisory_former PRIMARY KEY (id)
advisory_match.deployment_id bigint NOT NULL
advisory_match.version bigint NOT NULL
advisory_match.target bigint NOT NULL
advisory_match.after_project bigint NOT NULL
advisory_match.after_ref text NOT NULL
advisory_match.scores_version bigint NOT NULL
advisory_match.lease_until bigint
CREATE UNIQUE INDEX advisory_match_pkey ON public.advisory_match USING btree (deployment_id)
advisory_match PRIMARY KEY (deployment_id)
advisory_member.advisory_id bigint NOT NULL
advisory_member.group_id bigint NOT NULL
CREATE INDEX advisory_member_group ON public.advisory_member USING btree (group_id)
CREATE UNIQUE INDEX advisory_member_pkey ON public.advisory_member USING btree (advisory_id)
advisory_member PRIMARY KEY (advisory_id)
advisory_name.name text NOT NULL
advisory_name.advisory_id bigint NOT NULL
CREATE INDEX advisory_name_advisory ON public.advisory_name USING btree (advisory_id)
CREATE UNIQUE INDEX advisory_name_pkey ON public.advisory_name USING btree (name, advisory_id)
advisory_name PRIMARY KEY (name, advisory_id)
advisory_package.package text NOT NULL
advisory_package.advisory_id bigint NOT NULL
CREATE INDEX advisory_package_advisory ON public.advisory_package USING btree (advisory_id)
CREATE UNIQUE INDEX advisory_package_pkey ON public.advisory_package USING btree (package, advisory_id)
advisory_package PRIMARY KEY (package, advisory_id)
advisory_source.location text NOT NULL
advisory_source.kind text NOT NULL
advisory_source.etag text NOT NULL
advisory_source.last_modified text NOT NULL
advisory_source.checked_at bigint
advisory_source.loaded_at bigint
advisory_source.newest_at bigint
advisory_source.records bigint NOT NULL
advisory_source.refused bigint NOT NULL
advisory_source.error text NOT NULL
CREATE UNIQUE INDEX advisory_source_pkey ON public.advisory_source USING btree (location)
advisory_source PRIMARY KEY (location)
advisory_state.id smallint NOT NULL
advisory_state.version bigint NOT NULL
advisory_state.scores_version bigint NOT NULL
advisory_state.changed_at bigint
advisory_state.next_advisory_id bigint NOT NULL
advisory_state.next_group_id bigint NOT NULL
CREATE UNIQUE INDEX advisory_state_pkey ON public.advisory_state USING btree (id)
advisory_state PRIMARY KEY (id)
agent_scan.deployment_id bigint NOT NULL
agent_scan.unique_id text NOT NULL
agent_scan.scan_id bigint NOT NULL
agent_scan.started_at bigint NOT NULL
agent_scan.begun_json text NOT NULL
agent_scan.report_json bytea
agent_scan.answer_json text NOT NULL
agent_scan.done_json bytea
CREATE INDEX agent_scan_scan ON public.agent_scan USING btree (deployment_id, scan_id)
CREATE UNIQUE INDEX agent_scan_pkey ON public.agent_scan USING btree (deployment_id, unique_id)
agent_scan PRIMARY KEY (deployment_id, unique_id)
app_user.id bigint NOT NULL
app_user.name text NOT NULL
app_user.display_name text NOT NULL
app_user.password_hash text NOT NULL
app_user.created_at bigint NOT NULL
app_user.disabled_at bigint
app_user.signed_in_at bigint
app_user.second_factor_at bigint
app_user.address text NOT NULL DEFAULT ''::text
app_user.untold smallint NOT NULL DEFAULT 0
CREATE UNIQUE INDEX app_user_name_key ON public.app_user USING btree (name)
CREATE UNIQUE INDEX app_user_pkey ON public.app_user USING btree (id)
app_user PRIMARY KEY (id)
app_user UNIQUE (name)
SEQUENCE app_user_id_seq MAXVALUE 9007199254740991
audit_event.deployment_id bigint NOT NULL
audit_event.id bigint NOT NULL
audit_event.at bigint NOT NULL
audit_event.actor_json text NOT NULL
audit_event.action text NOT NULL
audit_event.subject text NOT NULL
audit_event.before_json text NOT NULL
audit_event.after_json text NOT NULL
CREATE INDEX audit_event_action ON public.audit_event USING btree (deployment_id, action, id)
CREATE INDEX audit_event_actor ON public.audit_event USING btree (deployment_id, actor_json, id)
CREATE UNIQUE INDEX audit_event_pkey ON public.audit_event USING btree (deployment_id, id)
audit_event PRIMARY KEY (deployment_id, id)
SEQUENCE audit_event_id_seq MAXVALUE 9007199254740991
change.deployment_id bigint NOT NULL
change.version bigint NOT NULL
change.kind smallint NOT NULL
change.id bigint NOT NULL
change.deleted smallint NOT NULL
change.more bigint NOT NULL DEFAULT 0
change.at bigint
CREATE UNIQUE INDEX change_pkey ON public.change USING btree (deployment_id, version, kind, id)
change PRIMARY KEY (deployment_id, version, kind, id)
change_comment.deployment_id bigint NOT NULL
change_comment.repository_id bigint NOT NULL
change_comment.number bigint NOT NULL
change_comment.lineage_id bigint NOT NULL
change_comment.host_id text NOT NULL
change_comment.thread text NOT NULL
change_comment.path text NOT NULL
change_comment.body text NOT NULL
change_comment.settled smallint NOT NULL
CREATE UNIQUE INDEX change_comment_pkey ON public.change_comment USING btree (deployment_id, repository_id, number, lineage_id)
change_comment FOREIGN KEY (deployment_id) REFERENCES deployment(id)
change_comment PRIMARY KEY (deployment_id, repository_id, number, lineage_id)
change_reply.deployment_id bigint NOT NULL
change_reply.repository_id bigint NOT NULL
change_reply.number bigint NOT NULL
change_reply.comment text NOT NULL
change_reply.login text NOT NULL
change_reply.outcome text NOT NULL
change_reply.answered smallint NOT NULL
change_reply.decided_at bigint NOT NULL
CREATE UNIQUE INDEX change_reply_pkey ON public.change_reply USING btree (deployment_id, repository_id, number, comment)
change_reply FOREIGN KEY (deployment_id) REFERENCES deployment(id)
change_reply PRIMARY KEY (deployment_id, repository_id, number, comment)
change_request.deployment_id bigint NOT NULL
change_request.repository_id bigint NOT NULL
change_request.number bigint NOT NULL
change_request.title text NOT NULL
change_request.author text NOT NULL
change_request.web_url text NOT NULL
change_request.state smallint NOT NULL
change_request.head_commit text NOT NULL
change_request.head_ref text NOT NULL
change_request.fetch_ref text NOT NULL
change_request.base_ref text NOT NULL
change_request.base_commit text NOT NULL
change_request.fork smallint NOT NULL
change_request.updated_at bigint
change_request.told_until bigint NOT NULL DEFAULT 0
change_request.replies_read_at bigint
change_request.head_at bigint
CREATE INDEX change_request_head ON public.change_request USING btree (deployment_id, repository_id, head_commit)
CREATE UNIQUE INDEX change_request_pkey ON public.change_request USING btree (deployment_id, repository_id, number)
change_request FOREIGN KEY (deployment_id) REFERENCES deployment(id)
change_request PRIMARY KEY (deployment_id, repository_id, number)
connection.deployment_id bigint NOT NULL
connection.id bigint NOT NULL
connection.kind smallint NOT NULL
connection.name text NOT NULL
connection.base_url text NOT NULL
connection.account text NOT NULL
connection.credential bytea NOT NULL
connection.webhook_secret bytea NOT NULL
connection.follow_json text NOT NULL
connection.created_at bigint NOT NULL
connection.checked_at bigint
connection.problem text NOT NULL
connection.heard_at bigint
connection.replies smallint NOT NULL DEFAULT 1
connection.people_json text NOT NULL DEFAULT '{}'::text
connection.replies_at bigint
CREATE UNIQUE INDEX connection_deployment_id_name_key ON public.connection USING btree (deployment_id, name)
CREATE UNIQUE INDEX connection_pkey ON public.connection USING btree (deployment_id, id)
connection FOREIGN KEY (deployment_id) REFERENCES deployment(id)
connection PRIMARY KEY (deployment_id, id)
connection UNIQUE (deployment_id, name)
SEQUENCE connection_id_seq MAXVALUE 9007199254740991
dependency.deployment_id bigint NOT NULL
dependency.id bigint NOT NULL
dependency.inventory_id bigint NOT NULL
dependency.package_version_id bigint NOT NULL
dependency.transitivity smallint NOT NULL
dependency.line integer NOT NULL
dependency.purl text NOT NULL
dependency.licenses_json text NOT NULL
dependency.hashes_json text NOT NULL
dependency.via_version_id bigint NOT NULL DEFAULT 0
dependency.requirers integer NOT NULL DEFAULT 0
dependency.supplier text NOT NULL DEFAULT ''::text
CREATE INDEX dependency_version ON public.dependency USING btree (deployment_id, package_version_id, inventory_id)
CREATE UNIQUE INDEX dependency_deployment_id_inventory_id_package_version_id_key ON public.dependency USING btree (deployment_id, inventory_id, package_version_id)
CREATE UNIQUE INDEX dependency_pkey ON public.dependency USING btree (deployment_id, id)
dependency PRIMARY KEY (deployment_id, id)
dependency UNIQUE (deployment_id, inventory_id, package_version_id)
SEQUENCE dependency_id_seq MAXVALUE 9007199254740991
deployment.id bigint NOT NULL
deployment.slug text NOT NULL
deployment.name text NOT NULL
deployment.created_at bigint NOT NULL
deployment.version bigint NOT NULL DEFAULT 0
deployment.pruned_version bigint NOT NULL DEFAULT 0
deployment.committed_at bigint NOT NULL DEFAULT 0
deployment.next_finding_id bigint NOT NULL DEFAULT 1
deployment.open_rules smallint NOT NULL DEFAULT 0
deployment.keeps_code smallint NOT NULL DEFAULT 1
deployment.second_factor smallint NOT NULL DEFAULT 0
deployment.notified bigint NOT NULL DEFAULT 0
deployment.start_left smallint NOT NULL DEFAULT 0
deployment.start_blocks_nothing smallint NOT NULL DEFAULT 0
deployment.open_requests bigint NOT NULL DEFAULT 0
CREATE UNIQUE INDEX deployment_pkey ON public.deployment USING btree (id)
deployment PRIMARY KEY (id)
SEQUENCE deployment_id_seq MAXVALUE 9007199254740991
deployment_slug.slug text NOT NULL
deployment_slug.deployment_id bigint NOT NULL
deployment_slug.name text NOT NULL
deployment_slug.created_at bigint NOT NULL
deployment_slug.second_factor smallint NOT NULL
CREATE UNIQUE INDEX deployment_slug_deployment_id_key ON public.deployment_slug USING btree (deployment_id)
CREATE UNIQUE INDEX deployment_slug_pkey ON public.deployment_slug USING btree (slug)
deployment_slug PRIMARY KEY (slug)
deployment_slug UNIQUE (deployment_id)
epss.cve text NOT NULL
epss.score double precision NOT NULL
epss.percentile double precision NOT NULL
CREATE UNIQUE INDEX epss_pkey ON public.epss USING btree (cve)
epss PRIMARY KEY (cve)
exception.deployment_id bigint NOT NULL
exception.id bigint NOT NULL
exception.target text NOT NULL
exception.paths_json text NOT NULL
exception.projects_json text NOT NULL
exception.reason text NOT NULL
exception.triage_reason smallint NOT NULL
exception.until_at bigint
exception.created_at bigint NOT NULL
exception.state smallint NOT NULL DEFAULT 2
exception.project_id bigint NOT NULL DEFAULT 0
exception.wished_at bigint
exception.creator_id bigint NOT NULL DEFAULT 0
exception.created_by_json text NOT NULL DEFAULT '{}'::text
exception.decided_at bigint
exception.decided_by_json text NOT NULL DEFAULT '{}'::text
exception.answer text NOT NULL DEFAULT ''::text
exception.kind smallint NOT NULL DEFAULT 1
exception.ref text NOT NULL DEFAULT ''::text
exception.format text NOT NULL DEFAULT ''::text
exception.author text NOT NULL DEFAULT ''::text
exception.file text NOT NULL DEFAULT ''::text
exception.version bigint NOT NULL DEFAULT 0
exception.issued_at bigint
exception.statements bigint NOT NULL DEFAULT 0
exception.bytes bigint NOT NULL DEFAULT 0
CREATE INDEX exception_state ON public.exception USING btree (deployment_id, state, kind, id)
CREATE UNIQUE INDEX exception_document ON public.exception USING btree (deployment_id, project_id, ref, projects_json, target, state) WHERE ((kind = 3) AND (state <= 2))
CREATE UNIQUE INDEX exception_pkey ON public.exception USING btree (deployment_id, id)
exception PRIMARY KEY (deployment_id, id)
exception_finding.deployment_id bigint NOT NULL
exception_finding.exception_id bigint NOT NULL
exception_finding.number integer NOT NULL
exception_finding.lineage_id bigint NOT NULL
CREATE INDEX exception_finding_lineage ON public.exception_finding USING btree (deployment_id, lineage_id)
CREATE UNIQUE INDEX exception_finding_pkey ON public.exception_finding USING btree (deployment_id, exception_id, number)
exception_finding FOREIGN KEY (deployment_id) REFERENCES deployment(id)
exception_finding PRIMARY KEY (deployment_id, exception_id, number)
SEQUENCE exception_id_seq MAXVALUE 9007199254740991
exception_mark.deployment_id bigint NOT NULL
exception_mark.version bigint NOT NULL
exception_mark.triage_event bigint NOT NULL
exception_mark.advisories bigint NOT NULL
exception_mark.marked_at bigint NOT NULL
CREATE UNIQUE INDEX exemption_mark_pkey ON public.exception_mark USING btree (deployment_id)
exception_mark PRIMARY KEY (deployment_id)
exception_name.deployment_id bigint NOT NULL
exception_name.name text NOT NULL
exception_name.exception_id bigint NOT NULL
exception_name.place bigint NOT NULL
CREATE UNIQUE INDEX vex_name_pkey ON public.exception_name USING btree (deployment_id, name, exception_id, place)
exception_name PRIMARY KEY (deployment_id, name, exception_id, place)
exception_refusal.deployment_id bigint NOT NULL
exception_refusal.project_id bigint NOT NULL
exception_refusal.statement text NOT NULL
exception_refusal.refused_at bigint NOT NULL
CREATE UNIQUE INDEX vex_refusal_pkey ON public.exception_refusal USING btree (deployment_id, project_id, statement)
exception_refusal PRIMARY KEY (deployment_id, project_id, statement)
exception_statement.deployment_id bigint NOT NULL
exception_statement.exception_id bigint NOT NULL
exception_statement.place bigint NOT NULL
exception_statement.statement_json text NOT NULL
CREATE UNIQUE INDEX vex_statement_pkey ON public.exception_statement USING btree (deployment_id, exception_id, place)
exception_statement PRIMARY KEY (deployment_id, exception_id, place)
failed_attempt.deployment_id bigint NOT NULL
failed_attempt.name text NOT NULL
failed_attempt.at bigint NOT NULL
failed_attempt.step text NOT NULL
failed_attempt.exit_code integer NOT NULL
failed_attempt.cause text NOT NULL
failed_attempt.scan_id bigint NOT NULL
failed_attempt.token_id text NOT NULL
failed_attempt.repository text NOT NULL
failed_attempt.ref text NOT NULL
failed_attempt.agent text NOT NULL
failed_attempt.address text NOT NULL
CREATE INDEX failed_attempt_at ON public.failed_attempt USING btree (at)
CREATE UNIQUE INDEX failed_attempt_pkey ON public.failed_attempt USING btree (deployment_id, name)
failed_attempt PRIMARY KEY (deployment_id, name)
finding.deployment_id bigint NOT NULL
finding.id bigint NOT NULL
finding.issue_type smallint NOT NULL
finding.project_id bigint NOT NULL
finding.ref text NOT NULL
finding.source text NOT NULL
finding.identity_kind smallint NOT NULL
finding.identity_hash bytea NOT NULL
finding.lineage_id bigint NOT NULL
finding.rule_id bigint NOT NULL
finding.rule_name text NOT NULL
finding.path text NOT NULL
finding.line integer NOT NULL
finding.code_hash bytea NOT NULL
finding.pattern_hash bytea NOT NULL
finding.content bytea NOT NULL
finding.state smallint NOT NULL
finding.severity smallint NOT NULL
finding.confidence smallint NOT NULL
finding.reachability smallint NOT NULL
finding.transitivity smallint NOT NULL
finding.package text NOT NULL
finding.flags smallint NOT NULL
finding.validation_state smallint NOT NULL
finding.secret_type text NOT NULL
finding.created_at bigint NOT NULL
finding.relevant_since bigint NOT NULL
finding.state_updated_at bigint
finding.first_scan_id bigint NOT NULL
finding.version bigint NOT NULL
finding.edge_hash bytea NOT NULL DEFAULT '\x00000000000000000000000000000000'::bytea
CREATE INDEX finding_lineage ON public.finding USING btree (deployment_id, lineage_id)
CREATE INDEX finding_secret ON public.finding USING btree (deployment_id, id) WHERE (issue_type = 3)
CREATE UNIQUE INDEX finding_deployment_id_project_id_ref_source_identity_kind_i_key ON public.finding USING btree (deployment_id, project_id, ref, source, identity_kind, identity_hash)
CREATE UNIQUE INDEX finding_pkey ON public.finding USING btree (deployment_id, id)
finding PRIMARY KEY (deployment_id, id)
finding UNIQUE (deployment_id, project_id, ref, source, identity_kind, identity_hash)
finding_body.deployment_id bigint NOT NULL
finding_body.finding_id bigint NOT NULL
finding_body.body bytea NOT NULL
finding_body.evidence_json text NOT NULL
CREATE UNIQUE INDEX finding_body_pkey ON public.finding_body USING btree (deployment_id, finding_id)
finding_body PRIMARY KEY (deployment_id, finding_id)
finding_comment.deployment_id bigint NOT NULL
finding_comment.id bigint NOT NULL
finding_comment.lineage_id bigint NOT NULL
finding_comment.body text NOT NULL
finding_comment.written_at bigint NOT NULL
finding_comment.written_by_json text NOT NULL
finding_comment.author_id bigint NOT NULL
finding_comment.withdrawn_at bigint
finding_comment.withdrawn_by_json text NOT NULL
CREATE INDEX finding_comment_author ON public.finding_comment USING btree (deployment_id, author_id, written_at)
CREATE INDEX finding_comment_lineage ON public.finding_comment USING btree (deployment_id, lineage_id, id)
CREATE UNIQUE INDEX finding_comment_pkey ON public.finding_comment USING btree (deployment_id, id)
finding_comment FOREIGN KEY (deployment_id) REFERENCES deployment(id)
finding_comment PRIMARY KEY (deployment_id, id)
finding_comment_mention.deployment_id bigint NOT NULL
finding_comment_mention.comment_id bigint NOT NULL
finding_comment_mention.user_id bigint NOT NULL
finding_comment_mention.name text NOT NULL
CREATE INDEX finding_comment_mention_user ON public.finding_comment_mention USING btree (deployment_id, user_id, comment_id)
CREATE UNIQUE INDEX finding_comment_mention_pkey ON public.finding_comment_mention USING btree (deployment_id, comment_id, user_id)
finding_comment_mention FOREIGN KEY (deployment_id) REFERENCES deployment(id)
finding_comment_mention PRIMARY KEY (deployment_id, comment_id, user_id)
finding_event.deployment_id bigint NOT NULL
finding_event.id bigint NOT NULL
finding_event.finding_id bigint NOT NULL
finding_event.at bigint NOT NULL
finding_event.scan_id bigint NOT NULL
finding_event.kind text NOT NULL
finding_event.detail_json text NOT NULL
CREATE INDEX finding_event_finding ON public.finding_event USING btree (deployment_id, finding_id)
CREATE UNIQUE INDEX finding_event_pkey ON public.finding_event USING btree (deployment_id, id)
finding_event PRIMARY KEY (deployment_id, id)
SEQUENCE finding_event_id_seq MAXVALUE 9007199254740991
finding_snippet.deployment_id bigint NOT NULL
finding_snippet.finding_id bigint NOT NULL
finding_snippet.scan_id bigint NOT NULL
finding_snippet.commit_hash text NOT NULL
finding_snippet.path text NOT NULL
finding_snippet.line integer NOT NULL
finding_snippet.end_line integer NOT NULL
finding_snippet.first_line integer NOT NULL
finding_snippet.code text NOT NULL
CREATE UNIQUE INDEX finding_snippet_pkey ON public.finding_snippet USING btree (deployment_id, finding_id)
finding_snippet PRIMARY KEY (deployment_id, finding_id)
finding_subject.deployment_id bigint NOT NULL
finding_subject.finding_id bigint NOT NULL
finding_subject.lockfile text NOT NULL
finding_subject.ecosystem text NOT NULL
finding_subject.package text NOT NULL
finding_subject.version text NOT NULL
finding_subject.vulnerability text NOT NULL
finding_subject.group_id bigint NOT NULL
CREATE INDEX finding_subject_group ON public.finding_subject USING btree (deployment_id, group_id)
CREATE INDEX finding_subject_vulnerability ON public.finding_subject USING btree (deployment_id, upper(vulnerability))
CREATE UNIQUE INDEX finding_subject_pkey ON public.finding_subject USING btree (deployment_id, finding_id)
finding_subject PRIMARY KEY (deployment_id, finding_id)
index_checkpoint.deployment_id bigint NOT NULL
index_checkpoint.id text NOT NULL
index_checkpoint.version bigint NOT NULL
index_checkpoint.created_at bigint NOT NULL
CREATE UNIQUE INDEX index_checkpoint_pkey ON public.index_checkpoint USING btree (deployment_id, id)
index_checkpoint FOREIGN KEY (deployment_id) REFERENCES deployment(id)
index_checkpoint PRIMARY KEY (deployment_id, id)
inventory.deployment_id bigint NOT NULL
inventory.id bigint NOT NULL
inventory.project_id bigint NOT NULL
inventory.ref text NOT NULL
inventory.lockfile text NOT NULL
inventory.source text NOT NULL
inventory.scan_id bigint NOT NULL
inventory.commit_hash text NOT NULL
inventory.digest bytea NOT NULL
inventory.stated_at bigint NOT NULL
CREATE UNIQUE INDEX inventory_deployment_id_project_id_ref_lockfile_key ON public.inventory USING btree (deployment_id, project_id, ref, lockfile)
CREATE UNIQUE INDEX inventory_pkey ON public.inventory USING btree (deployment_id, id)
inventory PRIMARY KEY (deployment_id, id)
inventory UNIQUE (deployment_id, project_id, ref, lockfile)
inventory_content.deployment_id bigint NOT NULL
inventory_content.inventory_id bigint NOT NULL
inventory_content.first_id bigint NOT NULL
inventory_content.last_id bigint NOT NULL
inventory_content.content bytea NOT NULL
CREATE UNIQUE INDEX inventory_content_pkey ON public.inventory_content USING btree (deployment_id, inventory_id)
inventory_content PRIMARY KEY (deployment_id, inventory_id)
inventory_graph.deployment_id bigint NOT NULL
inventory_graph.inventory_id bigint NOT NULL
inventory_graph.edges bytea NOT NULL
CREATE UNIQUE INDEX inventory_graph_pkey ON public.inventory_graph USING btree (deployment_id, inventory_id)
inventory_graph PRIMARY KEY (deployment_id, inventory_id)
SEQUENCE inventory_id_seq MAXVALUE 9007199254740991
job.deployment_id bigint NOT NULL
job.id bigint NOT NULL
job.kind text NOT NULL
job.token text NOT NULL
job.state smallint NOT NULL
job.attempt integer NOT NULL
job.run_at bigint NOT NULL
job.lease_until bigint
job.input_json text NOT NULL
job.result bytea
job.media_type text NOT NULL
job.error text NOT NULL
job.created_at bigint NOT NULL
job.finished_at bigint
job.requester text NOT NULL DEFAULT ''::text
job.claim bigint NOT NULL DEFAULT 0
job.subject text NOT NULL DEFAULT ''::text
job.key text NOT NULL DEFAULT ''::text
CREATE INDEX job_finished ON public.job USING btree (deployment_id, kind, finished_at) WHERE (finished_at IS NOT NULL)
CREATE INDEX job_kind ON public.job USING btree (deployment_id, kind, requester)
CREATE INDEX job_state ON public.job USING btree (deployment_id, kind, state, run_at, id)
CREATE INDEX job_subject ON public.job USING btree (deployment_id, kind, subject) WHERE (subject <> ''::text)
CREATE UNIQUE INDEX job_deployment_id_token_key ON public.job USING btree (deployment_id, token)
CREATE UNIQUE INDEX job_pkey ON public.job USING btree (deployment_id, id)
CREATE UNIQUE INDEX job_working ON public.job USING btree (deployment_id, kind, subject) WHERE ((state = 2) AND (subject <> ''::text))
job PRIMARY KEY (deployment_id, id)
job UNIQUE (deployment_id, token)
job_due.deployment_id bigint NOT NULL
job_due.kind text NOT NULL
job_due.due_at bigint NOT NULL
job_due.turn_at bigint NOT NULL DEFAULT 0
CREATE UNIQUE INDEX job_due_pkey ON public.job_due USING btree (deployment_id, kind)
job_due PRIMARY KEY (deployment_id, kind)
SEQUENCE job_id_seq MAXVALUE 9007199254740991
kept_answer.deployment_id bigint NOT NULL
kept_answer.idem_key text NOT NULL
kept_answer.request bytea NOT NULL
kept_answer.answer bytea NOT NULL
kept_answer.at bigint NOT NULL
kept_answer.ends bigint NOT NULL
CREATE INDEX kept_answer_at ON public.kept_answer USING btree (deployment_id, at)
CREATE INDEX kept_answer_ends ON public.kept_answer USING btree (deployment_id, ends)
CREATE UNIQUE INDEX kept_answer_pkey ON public.kept_answer USING btree (deployment_id, idem_key)
kept_answer PRIMARY KEY (deployment_id, idem_key)
kev.cve text NOT NULL
kev.added_at bigint
kev.due_at bigint
kev.ransomware smallint NOT NULL
kev.name text NOT NULL
kev.action text NOT NULL
CREATE UNIQUE INDEX kev_pkey ON public.kev USING btree (cve)
kev PRIMARY KEY (cve)
lineage.deployment_id bigint NOT NULL
lineage.id bigint NOT NULL
lineage.project_id bigint NOT NULL
lineage.triage_state smallint NOT NULL
lineage.triage_reason smallint NOT NULL
lineage.triage_comment text NOT NULL
lineage.triaged_at bigint
lineage.triaged_by_json text NOT NULL
lineage.automatic smallint NOT NULL
lineage.annotations_json text NOT NULL
lineage.triage_until bigint
lineage.assignee text NOT NULL DEFAULT ''::text
lineage.stops text NOT NULL DEFAULT ''::text
lineage.overdue_told integer
CREATE INDEX lineage_automatic ON public.lineage USING btree (deployment_id, triaged_by_json) WHERE (automatic = 1)
CREATE INDEX lineage_project ON public.lineage USING btree (deployment_id, project_id)
CREATE INDEX lineage_until ON public.lineage USING btree (deployment_id, triage_until) WHERE (triage_until IS NOT NULL)
CREATE UNIQUE INDEX lineage_pkey ON public.lineage USING btree (deployment_id, id)
lineage PRIMARY KEY (deployment_id, id)
SEQUENCE lineage_id_seq MAXVALUE 9007199254740991
lineage_identity.deployment_id bigint NOT NULL
lineage_identity.project_id bigint NOT NULL
lineage_identity.kind smallint NOT NULL
lineage_identity.hash bytea NOT NULL
lineage_identity.lineage_id bigint NOT NULL
CREATE INDEX lineage_identity_lineage ON public.lineage_identity USING btree (deployment_id, lineage_id)
CREATE UNIQUE INDEX lineage_identity_pkey ON public.lineage_identity USING btree (deployment_id, project_id, kind, hash)
lineage_identity PRIMARY KEY (deployment_id, project_id, kind, hash)
login_request.deployment_id bigint NOT NULL
login_request.key_hash bytea NOT NULL
login_request.code text NOT NULL
login_request.address text NOT NULL
login_request.agent text NOT NULL
login_request.asked_at bigint NOT NULL
login_request.expires_at bigint NOT NULL
login_request.token_json text NOT NULL
login_request.approved_json text NOT NULL
login_request.program_json text NOT NULL DEFAULT ''::text
CREATE UNIQUE INDEX login_request_deployment_id_code_key ON public.login_request USING btree (deployment_id, code)
CREATE UNIQUE INDEX login_request_pkey ON public.login_request USING btree (deployment_id, key_hash)
login_request PRIMARY KEY (deployment_id, key_hash)
login_request UNIQUE (deployment_id, code)
managed_plan.deployment_id bigint NOT NULL
managed_plan.project_id bigint NOT NULL
managed_plan.every smallint NOT NULL
managed_plan.queued_at bigint NOT NULL
CREATE UNIQUE INDEX managed_plan_pkey ON public.managed_plan USING btree (deployment_id, project_id)
managed_plan PRIMARY KEY (deployment_id, project_id)
managed_run.deployment_id bigint NOT NULL
managed_run.id bigint NOT NULL
managed_run.project_id bigint NOT NULL
managed_run.ref text NOT NULL
managed_run.commit_id text NOT NULL
managed_run.base text NOT NULL
managed_run.kind smallint NOT NULL
managed_run.cause smallint NOT NULL
managed_run.change_number bigint NOT NULL
managed_run.host text NOT NULL
managed_run.state smallint NOT NULL
managed_run.attempt integer NOT NULL
managed_run.claim bigint NOT NULL
managed_run.runner_id bigint NOT NULL
managed_run.token_id bigint NOT NULL
managed_run.scan_id bigint NOT NULL
managed_run.failure smallint NOT NULL
managed_run.reason text NOT NULL
managed_run.log_size bigint NOT NULL
managed_run.due_at bigint NOT NULL
managed_run.lease_until bigint
managed_run.created_at bigint NOT NULL
managed_run.begun_at bigint
managed_run.ended_at bigint
CREATE INDEX managed_run_project ON public.managed_run USING btree (deployment_id, project_id, id)
CREATE INDEX managed_run_state ON public.managed_run USING btree (deployment_id, state, due_at, id)
CREATE UNIQUE INDEX managed_run_pkey ON public.managed_run USING btree (deployment_id, id)
managed_run PRIMARY KEY (deployment_id, id)
SEQUENCE managed_run_id_seq MAXVALUE 9007199254740991
managed_run_log.deployment_id bigint NOT NULL
managed_run_log.run_id bigint NOT NULL
managed_run_log.start bigint NOT NULL
managed_run_log.content bytea NOT NULL
CREATE UNIQUE INDEX managed_run_log_pkey ON public.managed_run_log USING btree (deployment_id, run_id, start)
managed_run_log PRIMARY KEY (deployment_id, run_id, start)
notification.deployment_id bigint NOT NULL
notification.id bigint NOT NULL
notification.rule_id bigint NOT NULL
notification.receiver_json text NOT NULL
notification.event_key text NOT NULL
notification.message_json text NOT NULL
notification.state smallint NOT NULL
notification.created_at bigint NOT NULL
notification.due_at bigint NOT NULL
notification.ended_at bigint
notification.attempts integer NOT NULL
notification.status integer NOT NULL
notification.answer text NOT NULL
notification.problem text NOT NULL
CREATE INDEX notification_log ON public.notification USING btree (deployment_id, rule_id, id)
CREATE INDEX notification_queue ON public.notification USING btree (deployment_id, state, receiver_json, id)
CREATE UNIQUE INDEX notification_event ON public.notification USING btree (deployment_id, event_key, rule_id, receiver_json)
CREATE UNIQUE INDEX notification_pkey ON public.notification USING btree (deployment_id, id)
notification FOREIGN KEY (deployment_id) REFERENCES deployment(id)
notification PRIMARY KEY (deployment_id, id)
notification_rule.deployment_id bigint NOT NULL
notification_rule.id bigint NOT NULL
notification_rule.name text NOT NULL
notification_rule.events bigint NOT NULL
notification_rule.min_severity smallint NOT NULL
notification_rule.products smallint NOT NULL
notification_rule.filter text NOT NULL
notification_rule.missing_days integer NOT NULL
notification_rule.channel smallint NOT NULL
notification_rule.target bytea NOT NULL
notification_rule.host text NOT NULL
notification_rule.to_json text NOT NULL
notification_rule.digest smallint NOT NULL
notification_rule.paused smallint NOT NULL
notification_rule.problem text NOT NULL
notification_rule.created_at bigint NOT NULL
notification_rule.created_by_json text NOT NULL
notification_rule.checked_at bigint
CREATE UNIQUE INDEX notification_rule_name ON public.notification_rule USING btree (deployment_id, name)
CREATE UNIQUE INDEX notification_rule_pkey ON public.notification_rule USING btree (deployment_id, id)
notification_rule FOREIGN KEY (deployment_id) REFERENCES deployment(id)
notification_rule PRIMARY KEY (deployment_id, id)
oauth_grant.deployment_id bigint NOT NULL
oauth_grant.code_hash bytea NOT NULL
oauth_grant.token_id bigint NOT NULL
oauth_grant.client_hash bytea NOT NULL
oauth_grant.redirect_uri text NOT NULL
oauth_grant.challenge text NOT NULL
oauth_grant.resource text NOT NULL
oauth_grant.generation bigint NOT NULL
oauth_grant.refresh_hash bytea NOT NULL
oauth_grant.expires_at bigint NOT NULL
oauth_grant.token_json text NOT NULL
oauth_grant.approved_json text NOT NULL
oauth_grant.user_id bigint NOT NULL DEFAULT 0
CREATE INDEX oauth_grant_token ON public.oauth_grant USING btree (deployment_id, token_id)
CREATE INDEX oauth_grant_user ON public.oauth_grant USING btree (deployment_id, user_id)
CREATE UNIQUE INDEX oauth_grant_pkey ON public.oauth_grant USING btree (deployment_id, code_hash)
oauth_grant FOREIGN KEY (deployment_id) REFERENCES deployment(id)
oauth_grant PRIMARY KEY (deployment_id, code_hash)
package.deployment_id bigint NOT NULL
package.id bigint NOT NULL
package.ecosystem text NOT NULL
package.name text NOT NULL
CREATE UNIQUE INDEX package_deployment_id_ecosystem_name_key ON public.package USING btree (deployment_id, ecosystem, name)
CREATE UNIQUE INDEX package_pkey ON public.package USING btree (deployment_id, id)
package PRIMARY KEY (deployment_id, id)
package UNIQUE (deployment_id, ecosystem, name)
SEQUENCE package_id_seq MAXVALUE 9007199254740991
package_version.deployment_id bigint NOT NULL
package_version.id bigint NOT NULL
package_version.package_id bigint NOT NULL
package_version.version text NOT NULL
CREATE UNIQUE INDEX package_version_deployment_id_package_id_version_key ON public.package_version USING btree (deployment_id, package_id, version)
CREATE UNIQUE INDEX package_version_pkey ON public.package_version USING btree (deployment_id, id)
package_version PRIMARY KEY (deployment_id, id)
package_version UNIQUE (deployment_id, package_id, version)
SEQUENCE package_version_id_seq MAXVALUE 9007199254740991
policy.deployment_id bigint NOT NULL
policy.id bigint NOT NULL
policy.name text NOT NULL
policy.slug text NOT NULL
policy.product smallint NOT NULL
policy.is_default smallint NOT NULL
policy.scope_json text NOT NULL DEFAULT '{}'::text
policy.excludes_json text NOT NULL DEFAULT '[]'::text
policy.block_all smallint NOT NULL DEFAULT 0
policy.conditions_json text NOT NULL DEFAULT '[]'::text
policy.last_condition bigint NOT NULL DEFAULT 0
policy.due_json text NOT NULL DEFAULT '{}'::text
CREATE UNIQUE INDEX policy_deployment_id_slug_key ON public.policy USING btree (deployment_id, slug)
CREATE UNIQUE INDEX policy_pkey ON public.policy USING btree (deployment_id, id)
policy PRIMARY KEY (deployment_id, id)
policy UNIQUE (deployment_id, slug)
SEQUENCE policy_id_seq MAXVALUE 9007199254740991
policy_rule.deployment_id bigint NOT NULL
policy_rule.id bigint NOT NULL
policy_rule.policy_id bigint NOT NULL
policy_rule.rule_name text NOT NULL
policy_rule.rule_id bigint NOT NULL
policy_rule.mode smallint NOT NULL
policy_rule.served smallint NOT NULL
policy_rule.last_change_at bigint NOT NULL
policy_rule.last_change_by text NOT NULL
policy_rule.removed smallint NOT NULL DEFAULT 0
CREATE INDEX policy_rule_name ON public.policy_rule USING btree (deployment_id, rule_name)
CREATE UNIQUE INDEX policy_rule_deployment_id_policy_id_rule_name_key ON public.policy_rule USING btree (deployment_id, policy_id, rule_name)
CREATE UNIQUE INDEX policy_rule_pkey ON public.policy_rule USING btree (deployment_id, id)
policy_rule PRIMARY KEY (deployment_id, id)
policy_rule UNIQUE (deployment_id, policy_id, rule_name)
SEQUENCE policy_rule_id_seq MAXVALUE 9007199254740991
project.deployment_id bigint NOT NULL
project.id bigint NOT NULL
project.name text NOT NULL
project.url text NOT NULL
project.created_at bigint NOT NULL
project.default_branch text NOT NULL
project.primary_branch text NOT NULL
project.latest_scan_at bigint
project.visibility smallint NOT NULL
project.managed_diff smallint NOT NULL
project.managed_full smallint NOT NULL
project.repo_id text NOT NULL
project.bound_repo_id text NOT NULL DEFAULT ''::text
CREATE INDEX project_bound_repo_id ON public.project USING btree (deployment_id, bound_repo_id)
CREATE INDEX project_repo_id ON public.project USING btree (deployment_id, repo_id)
CREATE UNIQUE INDEX project_deployment_id_name_key ON public.project USING btree (deployment_id, name)
CREATE UNIQUE INDEX project_pkey ON public.project USING btree (deployment_id, id)
project FOREIGN KEY (deployment_id) REFERENCES deployment(id)
project PRIMARY KEY (deployment_id, id)
project UNIQUE (deployment_id, name)
project_alias.deployment_id bigint NOT NULL
project_alias.name text NOT NULL
project_alias.project_id bigint NOT NULL
CREATE UNIQUE INDEX project_alias_pkey ON public.project_alias USING btree (deployment_id, name)
project_alias PRIMARY KEY (deployment_id, name)
SEQUENCE project_id_seq MAXVALUE 4294967295
project_tag.deployment_id bigint NOT NULL
project_tag.project_id bigint NOT NULL
project_tag.position smallint NOT NULL
project_tag.tag text NOT NULL
CREATE UNIQUE INDEX project_tag_pkey ON public.project_tag USING btree (deployment_id, project_id, "position")
project_tag PRIMARY KEY (deployment_id, project_id, "position")
repository.deployment_id bigint NOT NULL
repository.id bigint NOT NULL
repository.connection_id bigint NOT NULL
repository.host_id text NOT NULL
repository.full_name text NOT NULL
repository.default_branch text NOT NULL
repository.archived smallint NOT NULL
repository.private smallint NOT NULL
repository.clone_url text NOT NULL
repository.web_url text NOT NULL
repository.project_id bigint NOT NULL
repository.hook_id text NOT NULL
repository.gone_at bigint
repository.head_branch text NOT NULL DEFAULT ''::text
repository.head_commit text NOT NULL DEFAULT ''::text
repository.polled_at bigint
repository.hooked_at bigint
repository.heard_at bigint
repository.missed_at bigint
repository.missed text NOT NULL DEFAULT ''::text
repository.hook_lacks text NOT NULL DEFAULT ''::text
repository.hook_looked_at bigint
repository.hook_address text NOT NULL DEFAULT ''::text
CREATE UNIQUE INDEX repository_deployment_id_connection_id_host_id_key ON public.repository USING btree (deployment_id, connection_id, host_id)
CREATE UNIQUE INDEX repository_pkey ON public.repository USING btree (deployment_id, id)
CREATE UNIQUE INDEX repository_project ON public.repository USING btree (deployment_id, project_id) WHERE (project_id <> 0)
repository FOREIGN KEY (deployment_id) REFERENCES deployment(id)
repository PRIMARY KEY (deployment_id, id)
repository UNIQUE (deployment_id, connection_id, host_id)
rule.deployment_id bigint NOT NULL
rule.id bigint NOT NULL
rule.name text NOT NULL
rule.digest bytea NOT NULL
rule.issue_type smallint NOT NULL
rule.content_json text NOT NULL
CREATE UNIQUE INDEX rule_deployment_id_name_digest_key ON public.rule USING btree (deployment_id, name, digest)
CREATE UNIQUE INDEX rule_pkey ON public.rule USING btree (deployment_id, id)
rule PRIMARY KEY (deployment_id, id)
rule UNIQUE (deployment_id, name, digest)
SEQUENCE rule_id_seq MAXVALUE 9007199254740991
rule_version.deployment_id bigint NOT NULL
rule_version.rule_name text NOT NULL
rule_version.version integer NOT NULL
rule_version.text_json text NOT NULL
rule_version.checked smallint NOT NULL
rule_version.starter smallint NOT NULL
rule_version.added_at bigint NOT NULL
rule_version.added_by text NOT NULL
CREATE UNIQUE INDEX rule_version_pkey ON public.rule_version USING btree (deployment_id, rule_name, version)
rule_version PRIMARY KEY (deployment_id, rule_name, version)
runner.deployment_id bigint NOT NULL
runner.id bigint NOT NULL
runner.token_id bigint NOT NULL
runner.name text NOT NULL
runner.labels_json text NOT NULL
runner.version text NOT NULL
runner.isolation text NOT NULL
runner.first_at bigint NOT NULL
runner.seen_at bigint NOT NULL
CREATE UNIQUE INDEX runner_deployment_id_token_id_name_key ON public.runner USING btree (deployment_id, token_id, name)
CREATE UNIQUE INDEX runner_pkey ON public.runner USING btree (deployment_id, id)
runner PRIMARY KEY (deployment_id, id)
runner UNIQUE (deployment_id, token_id, name)
SEQUENCE runner_id_seq MAXVALUE 9007199254740991
saved_view.deployment_id bigint NOT NULL
saved_view.id bigint NOT NULL
saved_view.owner_id bigint NOT NULL
saved_view.issue_type smallint NOT NULL
saved_view.name text NOT NULL
saved_view.query text NOT NULL
saved_view.created_at bigint NOT NULL
saved_view.created_by_json text NOT NULL
CREATE UNIQUE INDEX saved_view_name ON public.saved_view USING btree (deployment_id, owner_id, name)
CREATE UNIQUE INDEX saved_view_pkey ON public.saved_view USING btree (deployment_id, id)
saved_view FOREIGN KEY (deployment_id) REFERENCES deployment(id)
saved_view PRIMARY KEY (deployment_id, id)
saved_view_default.deployment_id bigint NOT NULL
saved_view_default.user_id bigint NOT NULL
saved_view_default.issue_type smallint NOT NULL
saved_view_default.view_id bigint NOT NULL
CREATE INDEX saved_view_default_view ON public.saved_view_default USING btree (deployment_id, view_id)
CREATE UNIQUE INDEX saved_view_default_pkey ON public.saved_view_default USING btree (deployment_id, user_id, issue_type)
saved_view_default FOREIGN KEY (deployment_id) REFERENCES deployment(id)
saved_view_default PRIMARY KEY (deployment_id, user_id, issue_type)
scan.deployment_id bigint NOT NULL
scan.id bigint NOT NULL
scan.project_id bigint NOT NULL
scan.ref text NOT NULL
scan.commit_hash text NOT NULL
scan.source text NOT NULL
scan.started_at bigint NOT NULL
scan.completed_at bigint
scan.exit_code integer
scan.is_full smallint NOT NULL
scan.products smallint NOT NULL
scan.status smallint NOT NULL
scan.outcome smallint NOT NULL
scan.code integer NOT NULL
scan.secrets integer NOT NULL
scan.supply_chain integer NOT NULL
scan.total_micros bigint
scan.digest bytea NOT NULL
scan.error text NOT NULL
scan.unread_json text NOT NULL DEFAULT '[]'::text
scan.applied_at bigint NOT NULL DEFAULT 0
scan.run_id bigint NOT NULL DEFAULT 0
scan.muted integer NOT NULL DEFAULT 0
CREATE INDEX scan_project ON public.scan USING btree (deployment_id, project_id, started_at, id)
CREATE INDEX scan_started ON public.scan USING btree (deployment_id, started_at, id)
CREATE INDEX scan_stream ON public.scan USING btree (deployment_id, project_id, ref, source, outcome, applied_at)
CREATE INDEX scan_upload ON public.scan USING btree (deployment_id, project_id, ref, digest)
CREATE UNIQUE INDEX scan_pkey ON public.scan USING btree (deployment_id, id)
scan PRIMARY KEY (deployment_id, id)
scan_account.deployment_id bigint NOT NULL
scan_account.scan_id bigint NOT NULL
scan_account.reported bytea NOT NULL
scan_account.gaps_json text NOT NULL
scan_account.all_gaps integer NOT NULL
scan_account.gate_json text NOT NULL
CREATE UNIQUE INDEX scan_account_pkey ON public.scan_account USING btree (deployment_id, scan_id)
scan_account PRIMARY KEY (deployment_id, scan_id)
SEQUENCE scan_id_seq MAXVALUE 9007199254740991
secret_rule.deployment_id bigint NOT NULL
secret_rule.tool text NOT NULL
secret_rule.name text NOT NULL
secret_rule.settled smallint NOT NULL
CREATE UNIQUE INDEX secret_rule_pkey ON public.secret_rule USING btree (deployment_id, tool, name)
secret_rule PRIMARY KEY (deployment_id, tool, name)
setting.name text NOT NULL
setting.value bytea NOT NULL
CREATE UNIQUE INDEX setting_pkey ON public.setting USING btree (name)
setting PRIMARY KEY (name)
ticket.deployment_id bigint NOT NULL
ticket.id bigint NOT NULL
ticket.state smallint NOT NULL
ticket.url text NOT NULL
ticket.slug text NOT NULL
ticket.connection_id bigint NOT NULL
ticket.project text NOT NULL
ticket.tracker_key text NOT NULL
ticket.marker text NOT NULL
ticket.problem text NOT NULL
ticket.created_at bigint NOT NULL
ticket.created_by_json text NOT NULL
ticket.checked_at bigint
CREATE INDEX ticket_url ON public.ticket USING btree (deployment_id, url)
CREATE UNIQUE INDEX ticket_pkey ON public.ticket USING btree (deployment_id, id)
ticket FOREIGN KEY (deployment_id) REFERENCES deployment(id)
ticket PRIMARY KEY (deployment_id, id)
ticket_finding.deployment_id bigint NOT NULL
ticket_finding.ticket_id bigint NOT NULL
ticket_finding.finding_id bigint NOT NULL
ticket_finding.lineage_id bigint NOT NULL
CREATE INDEX ticket_finding_ticket ON public.ticket_finding USING btree (deployment_id, ticket_id)
CREATE UNIQUE INDEX ticket_finding_pkey ON public.ticket_finding USING btree (deployment_id, lineage_id)
ticket_finding FOREIGN KEY (deployment_id) REFERENCES deployment(id)
ticket_finding PRIMARY KEY (deployment_id, lineage_id)
ticket_setting.deployment_id bigint NOT NULL
ticket_setting.setting_json text NOT NULL
CREATE UNIQUE INDEX ticket_setting_pkey ON public.ticket_setting USING btree (deployment_id)
ticket_setting FOREIGN KEY (deployment_id) REFERENCES deployment(id)
ticket_setting PRIMARY KEY (deployment_id)
token.deployment_id bigint NOT NULL
token.id bigint NOT NULL
token.public_id text NOT NULL
token.hash bytea NOT NULL
token.name text NOT NULL
token.scopes_json text NOT NULL
token.globs_json text NOT NULL
token.dialect text NOT NULL
token.created_at bigint NOT NULL
token.expires_at bigint
token.last_used_at bigint
token.revoked_at bigint
token.user_id bigint
CREATE UNIQUE INDEX token_deployment_id_hash_key ON public.token USING btree (deployment_id, hash)
CREATE UNIQUE INDEX token_deployment_id_public_id_key ON public.token USING btree (deployment_id, public_id)
CREATE UNIQUE INDEX token_pkey ON public.token USING btree (deployment_id, id)
token FOREIGN KEY (deployment_id) REFERENCES deployment(id)
token PRIMARY KEY (deployment_id, id)
token UNIQUE (deployment_id, hash)
token UNIQUE (deployment_id, public_id)
SEQUENCE token_id_seq MAXVALUE 9007199254740991
triage_event.deployment_id bigint NOT NULL
triage_event.id bigint NOT NULL
triage_event.lineage_id bigint NOT NULL
triage_event.at bigint NOT NULL
triage_event.actor_json text NOT NULL
triage_event.before_json text NOT NULL
triage_event.after_json text NOT NULL
triage_event.note text NOT NULL
CREATE INDEX triage_event_lineage ON public.triage_event USING btree (deployment_id, lineage_id)
CREATE UNIQUE INDEX triage_event_pkey ON public.triage_event USING btree (deployment_id, id)
triage_event PRIMARY KEY (deployment_id, id)
SEQUENCE triage_event_id_seq MAXVALUE 9007199254740991
user_half_session.hash bytea NOT NULL
user_half_session.user_id bigint NOT NULL
user_half_session.method text NOT NULL
user_half_session.tries smallint NOT NULL
user_half_session.expires_at bigint NOT NULL
CREATE INDEX user_half_session_user ON public.user_half_session USING btree (user_id)
CREATE UNIQUE INDEX user_half_session_pkey ON public.user_half_session USING btree (hash)
user_half_session FOREIGN KEY (user_id) REFERENCES app_user(id)
user_half_session PRIMARY KEY (hash)
user_identity.issuer text NOT NULL
user_identity.subject text NOT NULL
user_identity.user_id bigint NOT NULL
CREATE INDEX user_identity_user ON public.user_identity USING btree (user_id)
CREATE UNIQUE INDEX user_identity_pkey ON public.user_identity USING btree (issuer, subject)
user_identity FOREIGN KEY (user_id) REFERENCES app_user(id)
user_identity PRIMARY KEY (issuer, subject)
user_invitation.deployment_id bigint NOT NULL
user_invitation.id bigint NOT NULL
user_invitation.name text NOT NULL
user_invitation.new_name text NOT NULL
user_invitation.display_name text NOT NULL
user_invitation.role smallint NOT NULL
user_invitation.hash bytea NOT NULL
user_invitation.invited_by text NOT NULL
user_invitation.created_at bigint NOT NULL
user_invitation.expires_at bigint NOT NULL
user_invitation.declined_at bigint
CREATE INDEX user_invitation_hash ON public.user_invitation USING btree (hash)
CREATE INDEX user_invitation_name ON public.user_invitation USING btree (name)
CREATE UNIQUE INDEX user_invitation_deployment_id_name_key ON public.user_invitation USING btree (deployment_id, name)
CREATE UNIQUE INDEX user_invitation_pkey ON public.user_invitation USING btree (deployment_id, id)
user_invitation FOREIGN KEY (deployment_id) REFERENCES deployment_slug(deployment_id)
user_invitation PRIMARY KEY (deployment_id, id)
user_invitation UNIQUE (deployment_id, name)
user_link.id bigint NOT NULL
user_link.hash bytea NOT NULL
user_link.kind text NOT NULL
user_link.user_id bigint
user_link.deployment_id bigint
user_link.created_at bigint NOT NULL
user_link.expires_at bigint NOT NULL
CREATE UNIQUE INDEX user_link_hash_key ON public.user_link USING btree (hash)
CREATE UNIQUE INDEX user_link_pkey ON public.user_link USING btree (id)
user_link PRIMARY KEY (id)
user_link UNIQUE (hash)
SEQUENCE user_link_id_seq MAXVALUE 9007199254740991
user_passkey.id bigint NOT NULL
user_passkey.user_id bigint NOT NULL
user_passkey.credential_id bytea NOT NULL
user_passkey.credential bytea NOT NULL
user_passkey.name text NOT NULL
user_passkey.created_at bigint NOT NULL
user_passkey.used_at bigint
CREATE INDEX user_passkey_user ON public.user_passkey USING btree (user_id)
CREATE UNIQUE INDEX user_passkey_credential_id_key ON public.user_passkey USING btree (credential_id)
CREATE UNIQUE INDEX user_passkey_pkey ON public.user_passkey USING btree (id)
user_passkey FOREIGN KEY (user_id) REFERENCES app_user(id)
user_passkey PRIMARY KEY (id)
user_passkey UNIQUE (credential_id)
user_recovery_code.user_id bigint NOT NULL
user_recovery_code.hash bytea NOT NULL
CREATE UNIQUE INDEX user_recovery_code_pkey ON public.user_recovery_code USING btree (user_id, hash)
user_recovery_code FOREIGN KEY (user_id) REFERENCES app_user(id)
user_recovery_code PRIMARY KEY (user_id, hash)
user_role.deployment_id bigint NOT NULL
user_role.user_id bigint NOT NULL
user_role.role smallint NOT NULL
CREATE INDEX user_role_user ON public.user_role USING btree (user_id)
CREATE UNIQUE INDEX user_role_pkey ON public.user_role USING btree (deployment_id, user_id)
user_role FOREIGN KEY (deployment_id) REFERENCES deployment_slug(deployment_id)
user_role FOREIGN KEY (user_id) REFERENCES app_user(id)
user_role PRIMARY KEY (deployment_id, user_id)
user_session.id bigint NOT NULL
user_session.hash bytea NOT NULL
user_session.user_id bigint NOT NULL
user_session.method text NOT NULL
user_session.address text NOT NULL
user_session.agent text NOT NULL
user_session.created_at bigint NOT NULL
user_session.seen_at bigint NOT NULL
user_session.expires_at bigint NOT NULL
CREATE INDEX user_session_user ON public.user_session USING btree (user_id)
CREATE UNIQUE INDEX user_session_hash_key ON public.user_session USING btree (hash)
CREATE UNIQUE INDEX user_session_pkey ON public.user_session USING btree (id)
user_session FOREIGN KEY (user_id) REFERENCES app_user(id)
user_session PRIMARY KEY (id)
user_session UNIQUE (hash)
SEQUENCE user_session_id_seq MAXVALUE 9007199254740991
user_totp.user_id bigint NOT NULL
user_totp.secret bytea NOT NULL
user_totp.used_step bigint NOT NULL
CREATE UNIQUE INDEX user_totp_pkey ON public.user_totp USING btree (user_id)
user_totp FOREIGN KEY (user_id) REFERENCES app_user(id)
user_totp PRIMARY KEY (user_id)
user_used_challenge.hash bytea NOT NULL
user_used_challenge.expires_at bigint NOT NULL
CREATE UNIQUE INDEX user_used_challenge_pkey ON public.user_used_challenge USING btree (hash)
user_used_challenge PRIMARY KEY (hash)
webhook_delivery.deployment_id bigint NOT NULL
webhook_delivery.id bigint NOT NULL
webhook_delivery.connection_id bigint NOT NULL
webhook_delivery.delivery text NOT NULL
webhook_delivery.event text NOT NULL
webhook_delivery.repository text NOT NULL
webhook_delivery.received_at bigint NOT NULL
webhook_delivery.outcome text NOT NULL
webhook_delivery.head_commit text NOT NULL DEFAULT ''::text
CREATE UNIQUE INDEX webhook_delivery_deployment_id_connection_id_delivery_key ON public.webhook_delivery USING btree (deployment_id, connection_id, delivery)
CREATE UNIQUE INDEX webhook_delivery_pkey ON public.webhook_delivery USING btree (deployment_id, id)
webhook_delivery FOREIGN KEY (deployment_id) REFERENCES deployment(id)
webhook_delivery PRIMARY KEY (deployment_id, id)
webhook_delivery UNIQUE (deployment_id, connection_id, delivery)
