-- What nobody rates was stored as medium alone. The findings of advisories are made of
-- them anew: each deployment follows the advisories from the beginning once, ref by ref,
-- as it did when they were loaded first.

-- +goose Up
UPDATE advisory_match SET version = 0, target = 0, after_project = 0, after_ref = '';

-- +goose Down
SELECT 1;
