-- What a scan tells of itself beside its row, so that every number about it can
-- be opened.

-- +goose Up

-- scan_account has the scans that ended since it is there.
CREATE TABLE scan_account (
    deployment_id BIGINT  NOT NULL,
    scan_id       BIGINT  NOT NULL,
    reported      BYTEA   NOT NULL, -- ids of the findings that it reported and that are not muted: runs, as distance and length
    gaps_json     TEXT    NOT NULL, -- redoubt.ScanGap: what it did not look at, the first of them
    all_gaps      INTEGER NOT NULL, -- how many there were
    gate_json     TEXT    NOT NULL, -- redoubt.ScanGate; empty where it did not fail its build
    PRIMARY KEY (deployment_id, scan_id)
);

-- +goose Down
DROP TABLE scan_account;
