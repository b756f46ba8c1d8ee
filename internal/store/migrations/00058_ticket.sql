-- Tickets in other people's trackers, which findings are linked to.

-- +goose Up
CREATE TABLE ticket (
    deployment_id   BIGINT   NOT NULL REFERENCES deployment (id),
    id              BIGINT   NOT NULL, -- of the sequence of connection
    state           SMALLINT NOT NULL, -- redoubt.TicketState
    url             TEXT     NOT NULL, -- empty until it is created
    slug            TEXT     NOT NULL, -- what people call it
    connection_id   BIGINT   NOT NULL, -- 0: none reaches its tracker
    project         TEXT     NOT NULL, -- of the tracker
    tracker_key     TEXT     NOT NULL, -- the tracker's own id
    marker          TEXT     NOT NULL, -- written into one that we create
    problem         TEXT     NOT NULL, -- for people; empty: none
    created_at      BIGINT   NOT NULL,
    created_by_json TEXT     NOT NULL,
    checked_at      BIGINT,            -- when its tracker was asked last
    PRIMARY KEY (deployment_id, id)
);
CREATE INDEX ticket_url ON ticket (deployment_id, url);

-- ticket_finding is what a ticket is about. A lineage has one ticket, which its annotations show.
CREATE TABLE ticket_finding (
    deployment_id BIGINT NOT NULL REFERENCES deployment (id),
    ticket_id     BIGINT NOT NULL,
    finding_id    BIGINT NOT NULL,
    lineage_id    BIGINT NOT NULL,
    PRIMARY KEY (deployment_id, lineage_id)
);
CREATE INDEX ticket_finding_ticket ON ticket_finding (deployment_id, ticket_id);

-- ticket_setting is where a deployment's tickets are made.
CREATE TABLE ticket_setting (
    deployment_id BIGINT NOT NULL REFERENCES deployment (id),
    setting_json  TEXT   NOT NULL, -- redoubt.TicketSetting
    PRIMARY KEY (deployment_id)
);

-- +goose Down
DROP TABLE ticket_setting;
DROP TABLE ticket_finding;
DROP TABLE ticket;
