-- Versions of deployments end in 24 bits of chance, so that a history which was lost has
-- none of the versions that come in its place: redoubt.NextVersion. Who follows the feed
-- begins anew once.

-- +goose Up
DELETE FROM change;
DELETE FROM index_checkpoint;
UPDATE deployment SET version = version * 16777216, pruned_version = version * 16777216;
UPDATE exemption_mark SET version = version * 16777216;

-- +goose Down
DELETE FROM change;
DELETE FROM index_checkpoint;
UPDATE deployment SET version = version / 16777216, pruned_version = version / 16777216;
UPDATE exemption_mark SET version = version / 16777216;
