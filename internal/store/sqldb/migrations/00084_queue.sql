-- job.key names the resource with a limit, such as a host. One job of a kind and subject runs at a
-- time, so deliveries need no lock on messages. The next start adds the delivery jobs.

-- +goose Up
ALTER TABLE job ADD COLUMN key TEXT NOT NULL DEFAULT '';
CREATE INDEX job_subject ON job (deployment_id, kind, subject) WHERE subject <> '';
UPDATE job SET subject = '' WHERE state = 2; -- older versions ran several at a time
CREATE UNIQUE INDEX job_working ON job (deployment_id, kind, subject) WHERE state = 2 AND subject <> '';
ALTER TABLE notification DROP COLUMN held_until;
DELETE FROM job WHERE kind = 'deliver';
DELETE FROM setting WHERE name LIKE 'run advisories%';
