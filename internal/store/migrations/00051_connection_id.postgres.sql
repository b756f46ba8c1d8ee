-- Ids of connections, of what they see, and of what they hear.

-- +goose Up
CREATE SEQUENCE connection_id_seq MAXVALUE 9007199254740991;

-- +goose Down
DROP SEQUENCE connection_id_seq;
