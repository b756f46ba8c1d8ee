-- Scans under way (status 1) that runs had begun before 00070 are theirs: their tokens made them, as the trail tells.

-- +goose Up
UPDATE scan SET run_id = COALESCE((
    SELECT MIN(r.id) FROM managed_run r
    JOIN token t ON t.deployment_id = r.deployment_id AND t.id = r.token_id
    JOIN audit_event a ON a.deployment_id = r.deployment_id AND a.action = 'scan.create'
        AND a.subject = 'scan:' || CAST(scan.id AS TEXT) AND a.actor_json LIKE '%"id":"' || t.public_id || '"%'
    WHERE r.deployment_id = scan.deployment_id AND r.project_id = scan.project_id AND r.state BETWEEN 2 AND 5
), 0)
WHERE run_id = 0 AND status = 1 AND EXISTS (
    SELECT 1 FROM managed_run r WHERE r.deployment_id = scan.deployment_id AND r.project_id = scan.project_id
        AND r.state BETWEEN 2 AND 5 AND r.token_id <> 0
);

-- +goose Down
