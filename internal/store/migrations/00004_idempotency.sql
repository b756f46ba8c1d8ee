-- What makes a write that comes twice count once.

-- +goose Up

-- kept_answer has the answers to writes that came with a key, written by the
-- transaction that did the work. Both the hours and the bytes of a deployment
-- are bounded: what is old, or too far behind, is forgotten.
CREATE TABLE kept_answer (
    deployment_id BIGINT NOT NULL,
    idem_key      TEXT   NOT NULL, -- as the client sent it
    request       BYTEA  NOT NULL, -- a digest of what was asked for
    answer        BYTEA  NOT NULL, -- packed
    at            BIGINT NOT NULL,
    ends          BIGINT NOT NULL, -- bytes of all answers of the deployment up to this one: rises from row to row
    PRIMARY KEY (deployment_id, idem_key)
);
CREATE INDEX kept_answer_at ON kept_answer (deployment_id, at);
CREATE INDEX kept_answer_ends ON kept_answer (deployment_id, ends);

-- +goose Down
DROP TABLE kept_answer;
