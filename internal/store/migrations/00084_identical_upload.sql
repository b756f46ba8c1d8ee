-- Uploads are known again by the digest of their bytes, in scan.digest; that of what they
-- mean, which was there before, fits none. Memos of reports are no more.

-- +goose Up
DROP TABLE report_memo;
CREATE INDEX scan_upload ON scan (deployment_id, project_id, ref, digest);

-- +goose Down
