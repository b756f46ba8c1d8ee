-- Deletes the sources of advisories whose address has user info or a query: addresses are
-- stored without them. The next update loads these sources again.

-- +goose Up
DELETE FROM advisory_source WHERE location LIKE '%://%@%' OR location LIKE '%://%?%' OR location LIKE '%://%#%';

-- +goose Down
