-- Ids of connections, of what they see, and of what they hear.

-- +goose Up
INSERT INTO sequence (name, next) VALUES ('connection', 1);

-- +goose Down
DELETE FROM sequence WHERE name = 'connection';
