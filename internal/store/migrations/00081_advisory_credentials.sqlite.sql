-- Deletes the sources of advisories whose address has user info or a query: addresses are
-- stored without them. The next update loads these sources again.

-- +goose Up
PRAGMA secure_delete = ON;
DELETE FROM advisory_source WHERE location LIKE '%://%@%' OR location LIKE '%://%?%' OR location LIKE '%://%#%';
PRAGMA secure_delete = OFF;

-- +goose Down
