-- What a repository's webhook told, and what polling found that it did not tell.

-- +goose Up
ALTER TABLE repository ADD COLUMN hooked_at BIGINT;  -- since when the webhook tells this server; null: none, or from before this was kept
ALTER TABLE repository ADD COLUMN hook_until BIGINT; -- until when one alone asks the host for its webhooks; null: nobody does
ALTER TABLE repository ADD COLUMN heard_at BIGINT;   -- of the newest webhook about a push or a change request; null: none
ALTER TABLE repository ADD COLUMN missed_at BIGINT;  -- when polling found the first push since that no webhook told of; null: none
ALTER TABLE repository ADD COLUMN missed TEXT NOT NULL DEFAULT ''; -- the newest such push, for people
ALTER TABLE webhook_delivery ADD COLUMN head_commit TEXT NOT NULL DEFAULT ''; -- that it tells of; empty: none
UPDATE repository SET heard_at = (SELECT MAX(received_at) FROM webhook_delivery w
    WHERE w.deployment_id = repository.deployment_id AND w.connection_id = repository.connection_id AND w.repository = repository.host_id);

-- +goose Down
ALTER TABLE webhook_delivery DROP COLUMN head_commit;
ALTER TABLE repository DROP COLUMN missed;
ALTER TABLE repository DROP COLUMN missed_at;
ALTER TABLE repository DROP COLUMN heard_at;
ALTER TABLE repository DROP COLUMN hook_until;
ALTER TABLE repository DROP COLUMN hooked_at;
