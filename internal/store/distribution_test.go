package store_test

import (
	"slices"
	"testing"

	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// citus is a stub of the extension's function, which is not packaged for tests. It rejects the same
// tables as the extension.
const citus = `
CREATE TABLE spread (name TEXT PRIMARY KEY, col TEXT NOT NULL);
CREATE FUNCTION create_distributed_table(t TEXT, col TEXT, colocate_with TEXT DEFAULT '') RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE bad TEXT; number SMALLINT;
BEGIN
	SELECT attnum INTO STRICT number FROM pg_attribute WHERE attrelid = t::regclass AND attname = col;
	SELECT string_agg(indexrelid::regclass::text, ', ') INTO bad FROM pg_index WHERE indrelid = t::regclass AND indisunique AND NOT number = ANY (indkey);
	IF bad IS NOT NULL THEN RAISE EXCEPTION '%: unique keys without %: %', t, col, bad; END IF;
	IF colocate_with <> '' AND NOT EXISTS (SELECT 1 FROM spread WHERE name = colocate_with) THEN RAISE EXCEPTION '%: % is not spread', t, colocate_with; END IF;
	SELECT string_agg(conname, ', ') INTO bad FROM pg_constraint WHERE contype = 'f' AND conrelid = t::regclass
		AND (NOT number = ANY (conkey) OR NOT EXISTS (SELECT 1 FROM spread WHERE name = confrelid::regclass::text));
	IF bad IS NOT NULL THEN RAISE EXCEPTION '%: foreign keys to what is elsewhere: %', t, bad; END IF;
	INSERT INTO spread VALUES (t, col);
END $$;`

// TestDistribution applies the distribution. The extension must accept the tables, and the
// distributed ones must match the tables that statements treat as a tenant's.
func TestDistribution(t *testing.T) {
	s := storetest.New(t, "postgres")
	for _, text := range []string{citus, store.Distribution()} {
		if err := s.ExecRaw(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	left := lines(t, s, `SELECT conname FROM pg_constraint WHERE contype = 'f' AND confrelid::regclass::text IN (SELECT name FROM spread)
		AND conrelid::regclass::text NOT IN (SELECT name FROM spread)`)
	same(t, "foreign keys of what all share to what is spread", len(left), 0)
	spread := lines(t, s, `SELECT name FROM spread ORDER BY name`)
	for _, table := range append(slices.Clone(store.TenantTables), "audit_event", "deployment") {
		if slices.Contains(spread, table) == slices.Contains(store.SharedTables, table) {
			t.Errorf("%s is spread: %v", table, slices.Contains(spread, table))
		}
	}
	same(t, "tables that are spread", len(spread), len(store.TenantTables)-len(store.SharedTables)+2)
	same(t, "tables of tenants that are not spread", unspread(t, s), []string{})
	if err := s.ExecRaw(t.Context(), `CREATE TABLE of_a_later_migration (deployment_id BIGINT NOT NULL PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	same(t, "another table, missing in the list", unspread(t, s), []string{"of_a_later_migration"})
	for table, key := range map[string]string{"user_role": "user_id", "deployment": "slug"} {
		if err := s.ExecRaw(t.Context(), `SELECT create_distributed_table('`+table+`', '`+key+`')`); err == nil {
			t.Errorf("the function spreads %s by %s", table, key)
		}
	}
}

// unspread returns the tables with a deployment's rows that are neither distributed nor in
// SharedTables.
func unspread(t *testing.T, s *store.Store) []string {
	t.Helper()
	list := lines(t, s, `SELECT table_name FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'deployment_id'
		AND table_name NOT IN (SELECT name FROM spread) ORDER BY table_name`)
	return slices.DeleteFunc(list, func(table string) bool {
		return slices.Contains(store.SharedTables, table) || slices.Contains(global, table)
	})
}
