package house

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// The rules are tried on small made-up modules, so that none of them can pass because it sees nothing.
func TestRules(t *testing.T) {
	tests := []struct {
		name   string
		check  func(*source) []string
		files  map[string]string
		broken []string // the beginning of each message, in order
	}{
		{
			name:  "a package outside all rooms",
			check: everyPackageHasARoom,
			files: map[string]string{
				"internal/model/a.go":          "package model",
				"internal/store/a.go":          "package store",
				"internal/store/rows/a.go":     "package rows",
				"internal/utils/a.go":          "package utils",
				"internal/storefront/a.go":     "package storefront",
				"internal/utils/testdata/a.go": "package not_looked_at",
			},
			broken: []string{"internal/storefront: no room", "internal/utils: no room"},
		},
		{
			name:  "imports against the table",
			check: importsFollowTheTable,
			files: map[string]string{
				"internal/model/a.go":        imports("model", "time", "github.com/google/go-cmp/cmp"),
				"api/client.go":              imports("api", "net/http", modulePath+"/internal/model"),
				"internal/ingest/a.go":       imports("ingest", modulePath+"/internal/model", "golang.org/x/sync/errgroup"),
				"internal/ingest/b.go":       imports("ingest", modulePath+"/internal/store"),
				"internal/ingest/c_test.go":  imports("ingest", modulePath+"/internal/store"),
				"internal/report/a.go":       imports("report", modulePath+"/internal/report/sarif"),
				"internal/report/sarif/a.go": imports("sarif", modulePath+"/internal/ingest"),
				"internal/web/a.go":          imports("web", modulePath+"/internal/store", modulePath+"/internal/server"),
				"cmd/redoubt/main.go":        imports("main", modulePath+"/internal/store", modulePath+"/internal/web"),
			},
			broken: []string{
				`api/client.go: room "api" may not import "internal/model"`,
				`internal/ingest/b.go: room "internal/ingest" may not import "internal/store"`,
				`internal/model/a.go: "internal/model" imports the standard library only`,
				`internal/report/sarif/a.go: room "internal/report" may not import "internal/ingest"`,
				`internal/web/a.go: room "internal/web" may not import "internal/server"`,
			},
		},
		{
			name:  "statements about several tenants",
			check: statementsNameTheirTenant,
			files: map[string]string{
				"internal/store/testdata/schema.postgres.sql": "deployment.id bigint\nfinding.deployment_id bigint\nlineage.deployment_id bigint\nuser_role.deployment_id bigint\nkev.cve text\n",
				"internal/store/distribution.go":              "package store\nvar sharedTables = []string{\"user_role\"}",
				"internal/store/a.go": "package store\nconst columns = `id, state`\nfunc good(by string) []string { return []string{" +
					"`SELECT `+columns+` FROM finding WHERE deployment_id = $1 AND `+by, " +
					"`SELECT f.id FROM finding f JOIN lineage l ON l.deployment_id = f.deployment_id AND l.id = f.lineage_id WHERE f.deployment_id = $1`, " +
					"`UPDATE finding SET state = $2 WHERE deployment_id = $1`, `INSERT INTO finding (deployment_id) VALUES ($1)`, " +
					"`SELECT role FROM user_role`, `SELECT version FROM deployment WHERE id = $1` } }",
				"internal/store/b.go": "package store\nfunc bad() []string { return []string{" +
					"`SELECT id FROM finding`,\n`SELECT f.id FROM finding f JOIN lineage l ON l.id = f.lineage_id WHERE f.deployment_id = $1`,\n" +
					"`SELECT f.id FROM finding f JOIN kev k ON k.cve = f.rule WHERE f.deployment_id = $1`,\n`UPDATE finding SET deployment_id = $2 WHERE deployment_id = $1`,\n" +
					"`SELECT id FROM deployment ORDER BY id`,\n`DELETE FROM finding WHERE deployment_id IN (SELECT deployment_id FROM user_role)` } }",
				"internal/index/a.go": "package index\nvar notLookedAt = `SELECT id FROM finding`",
			},
			broken: []string{
				"internal/store/b.go:2: does not say of which tenant finding is", "internal/store/b.go:2: names no tenant",
				"internal/store/b.go:3: does not say of which tenant lineage is",
				"internal/store/b.go:4: is about finding, which is a tenant's, and about kev",
				"internal/store/b.go:5: moves rows to another tenant",
				"internal/store/b.go:6: does not say of which tenant deployment is", "internal/store/b.go:6: names no tenant",
				"internal/store/b.go:7: is about finding, which is a tenant's, and about user_role", "internal/store/b.go:7: does not say of which tenant finding is", "internal/store/b.go:7: names no tenant",
			},
		},
		{
			name:  "network, SQL and libraries outside their rooms",
			check: confinedImports,
			files: map[string]string{
				"internal/server/a.go":    imports("server", "net/http", "github.com/danielgtaylor/huma/v2"),
				"internal/store/a.go":     imports("store", "database/sql", "github.com/jackc/pgx/v5/stdlib"),
				"internal/web/a.go":       imports("web", "net/http/httputil", "github.com/danielgtaylor/huma/v2"),
				"internal/triage/a.go":    imports("triage", "database/sql/driver"),
				"internal/sbom/a.go":      imports("sbom", "net/http", "net/url"),
				"internal/sbom/a_test.go": imports("sbom", "net/http/httptest"),
			},
			broken: []string{
				"internal/sbom/a.go: net/http is only for api, internal/server",
				"internal/triage/a.go: database/sql/driver is only for internal/store",
				"internal/web/a.go: github.com/danielgtaylor/huma/v2 is only for internal/server",
			},
		},
		{
			name:  "what is for tests",
			check: testPackagesAreForTests,
			files: map[string]string{
				"internal/ingest/a.go":                imports("ingest", modulePath+"/internal/report/reporttest"),
				"internal/ingest/a_test.go":           imports("ingest", modulePath+"/internal/report/reporttest", modulePath+"/internal/storetest"),
				"internal/report/reporttest/model.go": imports("reporttest", modulePath, "net/http/httptest", modulePath+"/internal/storetest"),
				"internal/store/testing/a.go":         imports("testing", modulePath+"/internal/latest/x"),
				"cmd/redoubt/main.go":                 imports("main", modulePath+"/internal/storetest"),
			},
			broken: []string{
				"cmd/redoubt/main.go: internal/storetest is for tests",
				"internal/ingest/a.go: internal/report/reporttest is for tests",
			},
		},
		{
			name:  "clock and environment",
			check: clockIsHandedIn,
			files: map[string]string{
				"internal/triage/a.go":      "package triage\nimport \"time\"\nvar clock = time.Now",
				"internal/triage/b.go":      "package triage\nimport stdtime \"time\"\nfunc f(t stdtime.Time) any { return stdtime.Since(t) }",
				"internal/triage/c.go":      "package triage\nimport \"os\"\nfunc g() string { return os.Getenv(\"HOME\") }",
				"internal/triage/d.go":      "package triage\nimport \"time\"\nvar day = 24 * time.Hour",
				"internal/triage/e_test.go": "package triage\nimport \"time\"\nvar now = time.Now()",
				"internal/config/a.go":      "package config\nimport \"os\"\nvar home, ok = os.LookupEnv(\"HOME\")",
				"cmd/redoubt/main.go":       "package main\nimport \"time\"\nvar clock = time.Now",
			},
			broken: []string{
				"internal/triage/a.go:3: time.Now is only for cmd",
				"internal/triage/b.go:3: stdtime.Since is only for cmd",
				"internal/triage/c.go:3: os.Getenv is only for cmd",
			},
		},
		{
			name:  "five packages in a chain are enough",
			check: importsAreShallow,
			files: chain("cmd/redoubt", "internal/server", "internal/report", "internal/report/a", "."),
		},
		{
			name:   "six packages in a chain",
			check:  importsAreShallow,
			files:  chain("cmd/redoubt", "internal/server", "internal/report", "internal/report/a", "internal/report/b", "."),
			broken: []string{"cmd/redoubt → internal/server → internal/report → internal/report/a → internal/report/b → .: 6 packages"},
		},
		{
			name:  "package comments",
			check: packagesAreDocumented,
			files: map[string]string{
				"internal/job/doc.go":       "// Package job runs jobs.\npackage job",
				"internal/job/job.go":       "package job",
				"internal/sbom/sbom.go":     "package sbom",
				"internal/triage/a.go":      "//\npackage triage",
				"internal/report/a_test.go": "package report_test",
			},
			broken: []string{"internal/sbom: no package comment", "internal/triage: no package comment"},
		},
		{
			name:  "long files",
			check: filesAreShort,
			files: map[string]string{
				"a.go":      "package redoubt\n" + strings.Repeat("\n", 499),
				"b.go":      "package redoubt\n" + strings.Repeat("\n", 500),
				"c_test.go": "package redoubt\n" + strings.Repeat("\n", 500),
				"d.go":      "// Code generated by hand. DO NOT EDIT.\n\npackage redoubt\n" + strings.Repeat("\n", 500),
			},
			broken: []string{"b.go: 501 lines", "c_test.go: 501 lines"},
		},
		{
			name:   "two long functions among ninety-nine",
			check:  functionsAreShort,
			files:  map[string]string{"a.go": "package redoubt\n" + functions(60, 97) + functions(61, 2), "a_test.go": "package redoubt\n" + functions(61, 9)},
			broken: []string{"a.go:5822: f has 61 lines", "a.go:5883: f has 61 lines"},
		},
		{
			name:  "two long functions among a hundred",
			check: functionsAreShort,
			files: map[string]string{"a.go": "package redoubt\n" + functions(60, 98) + functions(61, 2)},
		},
		{
			name:  "paths of a machine",
			check: noMachinePaths,
			files: map[string]string{
				"README.md":                     "Look in `/ro" + "ot/logs`.\nIn a/wo" + "rk/b and https://host/ro" + "ot/x is nothing.",
				"scripts/a":                     "cd /wo" + "rk/main",
				"internal/job/testdata/a":       "/wo" + "rk/main",
				"internal/job/a_test.go":        "package job // /t" + "mp/x",
				"image.png":                     "\x00/wo" + "rk/main",
				"web/chart.js":                  "/t" + "mp/x",
				"internal/about/THIRD_PARTY.md": "`web/chart.js` is made by others.",
			},
			broken: []string{"README.md:1: ", "scripts/a:1: "},
		},
		{
			name:  "marks of unfinished work",
			check: nothingLeftForLater,
			files: map[string]string{
				"a.go":      "package redoubt\n// TO" + "DO: more",
				"a_test.go": "package redoubt // FIX" + "ME",
				"b.go":      "package redoubt // mktemp model.XX" + "XXXX, or an octodo",
			},
			broken: []string{"a.go:2: ", "a_test.go:1: "},
		},
		{
			name:  "citations",
			check: citationsLeadSomewhere,
			files: map[string]string{
				"docs/semantics.md": "# Semantics\n## §4 Findings\nAs in §9.\n## §5 Life\n### §6 no section\n",
				"a.go":              "package redoubt // semantics §4, §5\n// (semantics\n// §5 and\n// §6)\n// semantics §4,\n// §7",
				"b_test.go":         "package redoubt\n\n// decisions" + " §4",
				"c.sql":             "-- semantics §5\n-- (design" + ".md §3)",
			},
			broken: []string{"a.go:2: cites §6", "a.go:5: cites §7", "b_test.go:3: ", "c.sql:2: "},
		},
		{
			name:  "promises",
			check: promisesAreTested,
			files: map[string]string{
				"docs/security.md": "# Security\n| a | `TestA`, `TestB` |\n| b | `TestC` |\n",
				"a_test.go":        "package redoubt\nfunc TestA() {}\n",
				"b.go":             "package redoubt\nfunc TestC() {}\n",
			},
			broken: []string{"docs/security.md:2: names TestB", "docs/security.md:3: names TestC"},
		},
		{
			name:  "links",
			check: linksLeadSomewhere,
			files: map[string]string{
				"README.md":     "# A house\n[a](docs/a.md#two-words-at-2) [b](docs) [c](https://x.example/y) [d](#a-house)\n```\n[e](none.md)\n```\n[f](none.md)",
				"docs/a.md":     "## Two `words`, at §2\n[up](../README.md#another)\n[side](a.go)",
				"internal/a.go": "package redoubt // [a](none.md)",
			},
			broken: []string{"README.md:6: links to none.md", "docs/a.md:2: links to #another of README.md", "docs/a.md:3: links to docs/a.go"},
		},
		{
			name:  "ways",
			check: waysLeadSomewhere,
			files: map[string]string{
				"ARCHITECTURE.md": "# A\n`x/none.go`\n## Where do I change X?\n| to change | go to |\n|---|---|\n" +
					"| a | `api/<noun>.go`, `api`, `Ask` |\n| b | `api/b*.go`; then `finding.go` |\n| c | `finding` |\n| d | `pi/finding.go` and `lost.go` |\n## Data\n| e | `none.go` |",
				"api/finding.go": "package api",
				"finding.go":     "package redoubt",
			},
			broken: []string{
				"ARCHITECTURE.md: names api/b*.go", "ARCHITECTURE.md: \"| c | `finding` |\" names no path",
				"ARCHITECTURE.md: names pi/finding.go", "ARCHITECTURE.md: names lost.go",
			},
		},
		{
			name:  "words",
			check: wordsHaveTypes,
			files: map[string]string{
				"docs/semantics.md":    "| word | means | type |\n|---|---|---|\n| a | one | `model.A` |\n| b | two | `ingest.b` |\n| c | three | `model.C` |\n| d | four | `model.D` |\n",
				"a.go":                 "package model\ntype A int\nfunc (A) D() {}\nfunc (A) A() {}",
				"internal/ingest/b.go": "package ingest\nfunc b() {}",
				"c_test.go":            "package model\ntype C int",
			},
			broken: []string{"docs/semantics.md: no model.C", "docs/semantics.md: no model.D"},
		},
		{
			name:  "numbers of migrations",
			check: migrationsAreNumbered,
			files: map[string]string{
				"internal/store/migrations/00001_a.sql":          "",
				"internal/store/migrations/00002_b.sqlite.sql":   "",
				"internal/store/migrations/00002_b.postgres.sql": "",
				"internal/store/migrations/00002_c.postgres.sql": "",
				"internal/store/migrations/00002_d.sql":          "",
				"internal/store/migrations/00001_e.sql":          "",
				"internal/store/migrations/3_f.sql":              "",
				"internal/store/testdata/00001_g.sql":            "",
			},
			broken: []string{
				"internal/store/migrations/00001_e.sql: has the number of internal/store/migrations/00001_a.sql", "internal/store/migrations/00002_c.postgres.sql: has the number",
				"internal/store/migrations/00002_d.sql: has the number", "internal/store/migrations/3_f.sql: a migration is called",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			module := fstest.MapFS{}
			for name, content := range tt.files {
				module[name] = &fstest.MapFile{Data: []byte(content)}
			}
			src, err := readSource(module, slices.Sorted(maps.Keys(tt.files)))
			if err != nil {
				t.Fatal(err)
			}
			broken := tt.check(src)
			if len(broken) != len(tt.broken) {
				t.Fatalf("got %d messages, want %d:\n%s", len(broken), len(tt.broken), strings.Join(broken, "\n"))
			}
			for i, want := range tt.broken {
				if !strings.HasPrefix(broken[i], want) {
					t.Errorf("message %d = %q, want it to begin with %q", i, broken[i], want)
				}
			}
		})
	}
}

// imports is a file that imports the paths.
func imports(pkg string, paths ...string) string {
	text := "package " + pkg + "\n"
	for _, p := range paths {
		text += fmt.Sprintf("import _ %q\n", p)
	}
	return text
}

// chain is a module in which each package imports the next.
func chain(dirs ...string) map[string]string {
	files := map[string]string{}
	for i, dir := range dirs[:len(dirs)-1] {
		next := modulePath
		if dirs[i+1] != "." {
			next += "/" + dirs[i+1]
		}
		files[dir+"/a.go"] = imports("p", next)
	}
	return files
}

// functions is the text of count functions, each so many lines long.
func functions(lines, count int) string {
	return strings.Repeat("func f() {"+strings.Repeat("\n", lines-1)+"}\n", count)
}

// Two rows for one folder, or a row that allows a room there is not, would be a hole in the table.
func TestTable(t *testing.T) {
	known := map[string]bool{}
	for _, r := range rooms {
		for other := range known {
			if other != "." && (within(r.path, other) || within(other, r.path)) {
				t.Errorf("rooms %q and %q overlap", r.path, other)
			}
		}
		known[r.path] = true
	}
	for _, r := range rooms {
		for _, imported := range r.imports {
			if !known[imported] {
				t.Errorf("room %q may import %q, which is no room", r.path, imported)
			}
		}
	}
	for _, c := range confined {
		for _, r := range c.rooms {
			if !known[r] {
				t.Errorf("%s is confined to %q, which is no room", c.path, r)
			}
		}
	}
}
