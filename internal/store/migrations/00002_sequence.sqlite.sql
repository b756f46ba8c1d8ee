-- Ids count up across all tenants and stay below 2^53, so that every JSON
-- reader keeps them whole; projects' fit uint32. Findings count per deployment.

-- +goose Up
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
    ('job', 1);

-- +goose Down
DROP TABLE sequence;
