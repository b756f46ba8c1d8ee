-- Ids count up across all tenants and stay below 2^53, so that every JSON
-- reader keeps them whole; projects' fit uint32. Findings count per deployment.

-- +goose Up
CREATE SEQUENCE deployment_id_seq MAXVALUE 9007199254740991;
CREATE SEQUENCE token_id_seq MAXVALUE 9007199254740991;
CREATE SEQUENCE project_id_seq MAXVALUE 4294967295;
CREATE SEQUENCE scan_id_seq MAXVALUE 9007199254740991;
CREATE SEQUENCE rule_id_seq MAXVALUE 9007199254740991;
CREATE SEQUENCE policy_id_seq MAXVALUE 9007199254740991;
CREATE SEQUENCE policy_rule_id_seq MAXVALUE 9007199254740991;
CREATE SEQUENCE lineage_id_seq MAXVALUE 9007199254740991;
CREATE SEQUENCE finding_event_id_seq MAXVALUE 9007199254740991;
CREATE SEQUENCE triage_event_id_seq MAXVALUE 9007199254740991;
CREATE SEQUENCE audit_event_id_seq MAXVALUE 9007199254740991;
CREATE SEQUENCE inventory_id_seq MAXVALUE 9007199254740991;
CREATE SEQUENCE package_id_seq MAXVALUE 9007199254740991;
CREATE SEQUENCE package_version_id_seq MAXVALUE 9007199254740991;
CREATE SEQUENCE dependency_id_seq MAXVALUE 9007199254740991;
CREATE SEQUENCE job_id_seq MAXVALUE 9007199254740991;

-- +goose Down
DROP SEQUENCE job_id_seq;
DROP SEQUENCE dependency_id_seq;
DROP SEQUENCE package_version_id_seq;
DROP SEQUENCE package_id_seq;
DROP SEQUENCE inventory_id_seq;
DROP SEQUENCE audit_event_id_seq;
DROP SEQUENCE triage_event_id_seq;
DROP SEQUENCE finding_event_id_seq;
DROP SEQUENCE lineage_id_seq;
DROP SEQUENCE policy_rule_id_seq;
DROP SEQUENCE policy_id_seq;
DROP SEQUENCE rule_id_seq;
DROP SEQUENCE scan_id_seq;
DROP SEQUENCE project_id_seq;
DROP SEQUENCE token_id_seq;
DROP SEQUENCE deployment_id_seq;
