-- Rows of the feed say when their commit ended, which replaces the times of change_time.
-- Uploads are known again by a digest of their bytes, in scan.digest, which replaces the memos
-- of reports. Two settings told which programs opened the database, and which times readers
-- were shown. Creating a webhook needs no lease any longer, which ends the leases in
-- repository.hook_until.

-- +goose Up
ALTER TABLE change ADD COLUMN at BIGINT; -- null: not known, of commits before this schema
DROP TABLE change_time;
DROP TABLE report_memo;
ALTER TABLE scan ADD COLUMN muted INTEGER NOT NULL DEFAULT 0; -- in the code; the other counts leave them out
CREATE INDEX scan_upload ON scan (deployment_id, project_id, ref, digest);
ALTER TABLE repository DROP COLUMN hook_until;
DELETE FROM setting WHERE name IN ('programs', 'clock shown');
