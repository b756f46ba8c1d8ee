-- Jobs say whom they wait for, so that few of one receiver or host work at once. Of a kind and
-- subject one job works at a time, so that a delivery need not hold its messages: each receiver
-- has a job of its own, and what waits gets one by the next start.

-- +goose Up
ALTER TABLE job ADD COLUMN key TEXT NOT NULL DEFAULT '';
CREATE INDEX job_subject ON job (deployment_id, kind, subject) WHERE subject <> '';
UPDATE job SET subject = '' WHERE state = 2; -- of some two worked
CREATE UNIQUE INDEX job_working ON job (deployment_id, kind, subject) WHERE state = 2 AND subject <> '';
ALTER TABLE notification DROP COLUMN held_until;
DELETE FROM job WHERE kind = 'deliver';
DELETE FROM setting WHERE name LIKE 'run advisories%';
