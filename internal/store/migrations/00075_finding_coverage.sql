-- What the last scan missed was not kept before (finding.flags 16: read in part, 32: missed; both: unknown), and what it missed may not
-- be taken for what was put in its place (docs/semantics.md §4).

-- +goose Up
UPDATE finding SET flags = flags + 48 WHERE state IN (1, 3) AND package = '' AND flags < 16;

-- +goose Down
UPDATE finding SET flags = flags - 48 WHERE flags >= 48;
