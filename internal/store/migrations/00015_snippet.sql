-- The lines of code around findings, as builds send them.

-- +goose Up
ALTER TABLE deployment ADD COLUMN keeps_code SMALLINT NOT NULL DEFAULT 1; -- whether snippets are taken

-- finding_snippet has the lines around a finding that is there, secrets taken
-- out of them. Those of a finding that is fixed or removed go.
CREATE TABLE finding_snippet (
    deployment_id BIGINT  NOT NULL,
    finding_id    BIGINT  NOT NULL,
    scan_id       BIGINT  NOT NULL, -- that saw the finding there
    commit_hash   TEXT    NOT NULL,
    path          TEXT    NOT NULL, -- where the finding was then
    line          INTEGER NOT NULL, -- the finding's first then
    end_line      INTEGER NOT NULL, -- and its last
    first_line    INTEGER NOT NULL, -- of those that are kept
    code          TEXT    NOT NULL, -- with line feeds between the lines
    PRIMARY KEY (deployment_id, finding_id)
);

-- +goose Down
DROP TABLE finding_snippet;
ALTER TABLE deployment DROP COLUMN keeps_code;
