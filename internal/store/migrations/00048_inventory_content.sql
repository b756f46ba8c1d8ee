-- Lists of dependencies are decided on what lockfiles hold, packed, instead of on
-- their rows.

-- +goose Up

-- inventory_content has one row per lockfile that holds dependencies; it is read and
-- written as a whole. The format is in inventory_content.go; migration 49 fills it.
CREATE TABLE inventory_content (
    deployment_id BIGINT NOT NULL,
    inventory_id  BIGINT NOT NULL,
    first_id      BIGINT NOT NULL, -- dependency.id
    last_id       BIGINT NOT NULL, -- dependency.id
    content       BYTEA  NOT NULL, -- what its dependencies are filtered by
    PRIMARY KEY (deployment_id, inventory_id)
);

-- Which lockfiles hold a version is told without reading their rows.
DROP INDEX dependency_version;
CREATE INDEX dependency_version ON dependency (deployment_id, package_version_id, inventory_id);

-- +goose Down
DROP INDEX dependency_version;
CREATE INDEX dependency_version ON dependency (deployment_id, package_version_id);
DROP TABLE inventory_content;
