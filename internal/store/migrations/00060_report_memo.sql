-- How the last full report of a source was read, so that results whose bytes come
-- again are known without being read.

-- +goose Up
CREATE TABLE report_memo (
    deployment_id BIGINT NOT NULL REFERENCES deployment (id),
    project_id    BIGINT NOT NULL,
    ref           TEXT   NOT NULL,
    source        TEXT   NOT NULL,
    memo          BYTEA  NOT NULL, -- encodeReportMemo
    PRIMARY KEY (deployment_id, project_id, ref, source)
);

-- +goose Down
DROP TABLE report_memo;
