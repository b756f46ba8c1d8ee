-- Cards of vulnerabilities that no database rates have no severity: they were
-- medium before, which cannot be told from a rating. They are made anew.

-- +goose Up
DELETE FROM advisory_card WHERE severity = 2 AND score = 0;

-- +goose Down
DELETE FROM advisory_card WHERE severity = 0;
