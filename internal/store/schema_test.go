package store_test

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

var updateSchema = flag.Bool("update", false, "write the dumped schemas again")

// dumps are queries that return the schema as text in a stable order.
var dumps = map[string]string{
	"sqlite": `
		SELECT sql || ';' FROM sqlite_schema
		WHERE sql IS NOT NULL AND name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite%' ORDER BY tbl_name, type DESC, name`,
	"postgres": `
		SELECT line FROM (
			SELECT table_name AS t, 1 AS part, ordinal_position AS n, table_name || '.' || column_name || ' ' || data_type ||
				CASE WHEN is_nullable = 'NO' THEN ' NOT NULL' ELSE '' END || COALESCE(' DEFAULT ' || column_default, '') AS line
				FROM information_schema.columns WHERE table_schema = 'public'
			UNION ALL SELECT tablename, 2, 0, indexdef FROM pg_indexes WHERE schemaname = 'public'
			UNION ALL SELECT conrelid::regclass::text, 3, 0, conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
				WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
			UNION ALL SELECT sequencename, 4, 0, 'SEQUENCE ' || sequencename || ' MAXVALUE ' || max_value FROM pg_sequences WHERE schemaname = 'public'
		) AS lines WHERE t NOT LIKE 'goose%' ORDER BY t COLLATE "C", part, n, line COLLATE "C"`,
}

func lines(t *testing.T, s *store.Store, query string) (list []string) {
	t.Helper()
	rows, err := s.DB().QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		list = append(list, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestSchemaIsAsCheckedIn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		got := strings.Join(lines(t, s, dumps[s.Engine()]), "\n") + "\n"
		file := filepath.Join("testdata", "schema."+s.Engine()+".sql")
		if *updateSchema {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("the schema is not the one in %s; look at the difference, then run make schema (-want +got):\n%s", file, diff)
		}
	})
}

// columns returns table.column for all tables of Redoubt.
func columns(t *testing.T, s *store.Store) []string {
	t.Helper()
	query := `SELECT m.name || '.' || c.name FROM sqlite_schema m, pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'goose%' AND m.name NOT LIKE 'sqlite%' AND m.name <> 'sequence'`
	if s.Engine() == "postgres" {
		query = `SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name NOT LIKE 'goose%'`
	}
	list := lines(t, s, query)
	slices.Sort(list)
	return list
}

func TestEnginesHaveEqualSchemas(t *testing.T) {
	lite, pg := storetest.New(t, "sqlite"), storetest.New(t, "postgres")
	same(t, "columns on PostgreSQL, as on SQLite", columns(t, pg), columns(t, lite))
	same(t, "sequences on PostgreSQL, as on SQLite",
		lines(t, pg, `SELECT sequencename FROM pg_sequences WHERE sequencename NOT LIKE 'goose%' ORDER BY sequencename COLLATE "C"`),
		lines(t, lite, `SELECT name || '_id_seq' FROM sequence ORDER BY 1`))
}

// global are the tables without a tenant.
var global = []string{
	"deployment", "deployment_slug", "setting", "sequence", "goose_db_version", "app_user", "user_identity", "user_session", "user_half_session", "user_totp", "user_recovery_code", "user_passkey", "user_used_challenge", "user_link",
	"advisory_state", "advisory", "advisory_name", "advisory_package", "advisory_member", "advisory_former", "advisory_change", "advisory_alias_change", "advisory_source", "advisory_card", "epss", "kev",
}

func TestTenantTableKeysStartWithDeployment(t *testing.T) {
	s := storetest.New(t, "sqlite")
	var tenants []string
	for _, table := range lines(t, s, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'`) {
		if slices.Contains(global, table) {
			continue
		}
		tenants = append(tenants, table)
		keys := lines(t, s, fmt.Sprintf(`SELECT name FROM pragma_index_list('%s') WHERE "unique"`, table))
		if len(keys) == 0 {
			t.Errorf("%s has no key", table)
		}
		for _, key := range keys {
			if first := lines(t, s, fmt.Sprintf(`SELECT name FROM pragma_index_info('%s') WHERE seqno = 0`, key)); first[0] != "deployment_id" {
				t.Errorf("the key %s of %s starts with %s, want deployment_id", key, table, first[0])
			}
		}
	}
	dropped := append(slices.Clone(store.TenantTables), "audit_event")
	slices.Sort(dropped)
	slices.Sort(tenants)
	same(t, "tables emptied with a deployment, and the audit trail", dropped, tenants)
}

func TestIDsStayBelow2to53(t *testing.T) {
	s := storetest.New(t, "postgres")
	var unsafe sql.NullString
	err := s.DB().QueryRowContext(t.Context(), `SELECT string_agg(sequencename, ', ') FROM pg_sequences WHERE max_value >= 9007199254740992`).Scan(&unsafe)
	if err != nil || unsafe.Valid {
		t.Errorf("sequences that outgrow 2^53: %v, %v", unsafe.String, err)
	}
}
