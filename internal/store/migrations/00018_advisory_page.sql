-- What the pages about advisories show: each vulnerability in a line, and how a
-- dependency gets into a lockfile.

-- +goose Up

-- advisory_card has one row per group of records: what lists and searches show
-- of it. It is derived, and missing until somebody makes it anew.
CREATE TABLE advisory_card (
    group_id  BIGINT   PRIMARY KEY,
    shown     TEXT     NOT NULL,
    names     TEXT     NOT NULL, -- all, in upper case, parted by spaces
    packages  TEXT     NOT NULL, -- as npm/lodash, parted by line ends
    summary   TEXT     NOT NULL,
    severity  SMALLINT NOT NULL,
    score     DOUBLE PRECISION NOT NULL, -- CVSS; 0 where none is known
    malicious SMALLINT NOT NULL,
    withdrawn SMALLINT NOT NULL,
    modified  BIGINT
);

-- The package of the same lockfile through which a package gets in, on the
-- shortest way from what the project asks for itself; 0 where it is asked for,
-- or where the lockfile does not tell. And how many packages of it ask for it.
ALTER TABLE dependency ADD COLUMN via_version_id BIGINT NOT NULL DEFAULT 0;
ALTER TABLE dependency ADD COLUMN requirers INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE dependency DROP COLUMN requirers;
ALTER TABLE dependency DROP COLUMN via_version_id;
DROP TABLE advisory_card;
