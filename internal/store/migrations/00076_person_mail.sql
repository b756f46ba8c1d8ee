-- Where people get mail of their own, and which due date of a finding people were told is over.

-- +goose Up
ALTER TABLE app_user ADD COLUMN address TEXT NOT NULL DEFAULT ''; -- of mail; empty: the name, where that is one
ALTER TABLE app_user ADD COLUMN untold SMALLINT NOT NULL DEFAULT 0; -- 1: wants no mail
ALTER TABLE lineage ADD COLUMN overdue_told INTEGER; -- the day of the due date, from 1970; NULL: none

-- +goose Down
ALTER TABLE lineage DROP COLUMN overdue_told;
ALTER TABLE app_user DROP COLUMN untold;
ALTER TABLE app_user DROP COLUMN address;
