-- Rules by which people are told of what happens, and what they were told.

-- +goose Up
ALTER TABLE deployment ADD COLUMN notified BIGINT NOT NULL DEFAULT 0; -- redoubt.NotificationEvents that some rule asks for

CREATE TABLE notification_rule (
    deployment_id   BIGINT   NOT NULL REFERENCES deployment (id),
    id              BIGINT   NOT NULL, -- of the sequence of connection
    name            TEXT     NOT NULL,
    events          BIGINT   NOT NULL, -- redoubt.NotificationEvents
    min_severity    SMALLINT NOT NULL, -- redoubt.Severity; 0: any
    products        SMALLINT NOT NULL, -- redoubt.Products; 0: all
    filter          TEXT     NOT NULL, -- a query of the findings pages
    missing_days    INTEGER  NOT NULL,
    channel         SMALLINT NOT NULL, -- redoubt.NotificationChannel
    target          BYTEA    NOT NULL, -- sealed redoubt.NotificationTarget
    host            TEXT     NOT NULL, -- of it, for people
    to_json         TEXT     NOT NULL, -- addresses of mail
    digest          SMALLINT NOT NULL, -- redoubt.NotificationDigest
    paused          SMALLINT NOT NULL,
    problem         TEXT     NOT NULL, -- for people; empty: none
    created_at      BIGINT   NOT NULL,
    created_by_json TEXT     NOT NULL,
    checked_at      BIGINT,            -- until when missing scans were looked for
    PRIMARY KEY (deployment_id, id)
);
CREATE UNIQUE INDEX notification_rule_name ON notification_rule (deployment_id, name);

CREATE TABLE notification (
    deployment_id BIGINT   NOT NULL REFERENCES deployment (id),
    id            BIGINT   NOT NULL, -- of the sequence of connection
    rule_id       BIGINT   NOT NULL,
    receiver_json TEXT     NOT NULL, -- redoubt.NotificationReceiver
    event_key     TEXT     NOT NULL, -- of what happened: a receiver is told once for a rule
    message_json  TEXT     NOT NULL, -- redoubt.NotificationMessage
    state         SMALLINT NOT NULL, -- redoubt.NotificationState
    created_at    BIGINT   NOT NULL,
    due_at        BIGINT   NOT NULL,
    held_until    BIGINT,            -- until when somebody delivers it
    ended_at      BIGINT,
    attempts      INTEGER  NOT NULL,
    status        INTEGER  NOT NULL, -- of HTTP; 0: no answer
    answer        TEXT     NOT NULL, -- its beginning
    problem       TEXT     NOT NULL, -- for people; empty: none
    PRIMARY KEY (deployment_id, id)
);
CREATE UNIQUE INDEX notification_event ON notification (deployment_id, event_key, rule_id, receiver_json);
CREATE INDEX notification_log ON notification (deployment_id, rule_id, id);
CREATE INDEX notification_queue ON notification (deployment_id, state, receiver_json, id);

-- +goose Down
DROP TABLE notification;
DROP TABLE notification_rule;
ALTER TABLE deployment DROP COLUMN notified;
