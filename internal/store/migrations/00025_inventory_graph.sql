-- Which packages of a lockfile ask for which, for bills of materials; and who
-- gives a package out.

-- +goose Up

-- inventory_graph has one row per lockfile that tells; it is read and written as a
-- whole. The format is in inventory_graph.go.
CREATE TABLE inventory_graph (
    deployment_id BIGINT NOT NULL,
    inventory_id  BIGINT NOT NULL,
    edges         BYTEA  NOT NULL, -- pairs of package_version.id
    PRIMARY KEY (deployment_id, inventory_id)
);

-- As a bill of materials told; lockfiles do not.
ALTER TABLE dependency ADD COLUMN supplier TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE dependency DROP COLUMN supplier;
DROP TABLE inventory_graph;
