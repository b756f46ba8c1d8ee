package archtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// module contains files by their path.
type module map[string]string

// TestRules applies each rule to a small module with violations, so that no rule passes because it finds nothing.
func TestRules(t *testing.T) {
	large := module{"internal/a/a_test.go": lines(200)} // a is within the limits, b is not, and api is exempt
	for i := range 41 {
		text := "package p\nvar A, b = 1, 2\nfunc F() {}\ntype t int\nfunc (t) M() {}\n" + strings.Repeat("\n", 195)
		for _, dir := range []string{"internal/a", "internal/b", "api"}[i/40:] {
			large[fmt.Sprintf("%s/%d.go", dir, i)] = text
		}
	}
	tests := []struct {
		rule  string
		files module
		want  []string // the beginning of each message, in order
	}{
		{"package table", module{
			architecture:               table("internal/rows 2", "internal/ghost 2", "internal/rows 2", ". 1"),
			"a.go":                     "package redoubt",
			"internal/rows/sub/a.go":   "package sub",
			"internal/rowshop/a.go":    "package rowshop",
			"internal/x/testdata/a.go": "package ignored",
		}, []string{
			"internal/rowshop: no row", architecture + ": row internal/ghost is doubled or has no",
			architecture + ": row internal/rows is doubled",
		}},
		{"layers", module{
			architecture: table(". 1", "api 1", "internal/report 2", "internal/report/read 1", "internal/ingest 2",
				"internal/apihttp 4", "internal/web 4"),
			"api/a.go":                   imports("net/http", modulePath, "github.com/google/go-cmp/cmp"),
			"internal/ingest/a.go":       imports(modulePath, "golang.org/x/sync/errgroup", modulePath+"/internal/report/read"),
			"internal/ingest/b.go":       imports(modulePath + "/internal/report"),
			"internal/ingest/c_test.go":  imports(modulePath + "/internal/web"),
			"internal/report/a.go":       imports(modulePath + "/internal/report/sarif"),
			"internal/report/sarif/a.go": imports(modulePath + "/internal/web"),
			"internal/web/a.go":          imports(modulePath+"/internal/report", modulePath+"/internal/apihttp"),
		}, []string{
			"api/a.go (layer 1) imports . (layer 1)", "api/a.go: github.com/google/go-cmp/cmp is not in the standard",
			"internal/ingest/b.go (layer 2) imports internal/report (layer 2)",
			"internal/report/sarif/a.go (layer 2) imports internal/web (layer 4)",
			"internal/web/a.go (layer 4) imports internal/apihttp (layer 4)",
		}},
		{"areas", module{
			"internal/web/a.go":           imports(modulePath + "/internal/web/findings"),
			"internal/web/findings/a.go":  imports(modulePath+"/internal/web/ui", modulePath+"/internal/web/projects"),
			"internal/web/component/a.go": imports(modulePath + "/internal/web/projects"),
			"internal/report/sarif/a.go":  imports(modulePath + "/internal/report/tools"),
			"internal/web/projects/a.go":  imports(modulePath + "/internal/report/sarif"),
		}, []string{
			"internal/web/component/a.go imports internal/web/projects",
			"internal/web/findings/a.go imports internal/web/projects",
		}},
		{"import depth", chain("cmd/redoubt", "internal/a", "internal/b", "internal/b/x", "internal/c", "internal/d", "."), []string{
			"cmd → internal/a → internal/b → internal/c → internal/d → .: 6 units",
		}},
		{"confined libraries", module{
			"internal/apihttp/a.go":            imports("net/http", "github.com/danielgtaylor/huma/v2"),
			"internal/web/a.go":                imports("net/http/httputil", "github.com/danielgtaylor/huma/v2"),
			"internal/triage/a.go":             imports("database/sql/driver"),
			"internal/sbom/a.go":               imports("net/url"),
			"internal/sbom/a_test.go":          imports("net/http/httptest"),
			"internal/testutil/storetest/a.go": imports("database/sql"),
		}, []string{
			"internal/triage/a.go: database/sql/driver is only for internal/store",
			"internal/web/a.go: github.com/danielgtaylor/huma/v2 is only for internal/apihttp",
		}},
		{"test packages", module{
			"internal/ingest/a.go":              imports(modulePath + "/internal/testutil/reporttest"),
			"internal/ingest/a_test.go":         imports(modulePath + "/internal/testutil/storetest"),
			"internal/testutil/reporttest/a.go": imports(modulePath + "/internal/testutil/storetest"),
			"internal/store/testing/a.go":       imports(modulePath + "/internal/latest/x"),
			"cmd/redoubt/main.go":               imports(modulePath + "/internal/testutil/fake"),
		}, []string{
			"cmd/redoubt/main.go: internal/testutil/fake is for tests",
			"internal/ingest/a.go: internal/testutil/reporttest is for tests",
		}},
		{"clock and environment", module{
			"internal/triage/a.go":      "package triage\nimport \"time\"\nvar clock = time.Now",
			"internal/triage/b.go":      "package triage\nimport stdtime \"time\"\nvar since = stdtime.Since",
			"internal/triage/c.go":      "package triage\nimport \"os\"\nvar home = os.Getenv(\"HOME\")",
			"internal/triage/d.go":      "package triage\nimport \"time\"\nvar day = 24 * time.Hour",
			"internal/triage/e_test.go": "package triage\nimport \"time\"\nvar now = time.Now()",
			"internal/config/a.go":      "package config\nimport \"os\"\nvar home, ok = os.LookupEnv(\"HOME\")",
			"cmd/redoubt/main.go":       "package main\nimport \"time\"\nvar clock = time.Now",
		}, []string{
			"internal/triage/a.go:3: time.Now is only for cmd", "internal/triage/b.go:3: stdtime.Since is only for cmd",
			"internal/triage/c.go:3: os.Getenv is only for cmd",
		}},
		{"package comments", module{
			"internal/job/doc.go":       "// Package job runs jobs.\npackage job",
			"internal/job/job.go":       "package job",
			"internal/sbom/sbom.go":     "package sbom",
			"internal/triage/a.go":      "//\npackage triage",
			"internal/report/a_test.go": "package report_test",
		}, []string{"internal/sbom: no package comment", "internal/triage: no package comment"}},
		{"files per package", large, []string{"internal/b: 41 files, at most 40"}},
		{"lines per package", large, []string{"internal/b: 8200 lines, at most 8000"}},
		{"exported names per package", large, []string{"internal/b: 82 exported names, at most 80"}},
		{"file length", module{
			"a.go": lines(600), "b.go": lines(601), "c_test.go": lines(601),
			"d.go": "// Code generated by hand. DO NOT EDIT.\n\n" + lines(601),
		}, []string{"b.go: 601 lines", "c_test.go: 601 lines"}},
		{"line width", module{
			"a.go": "package redoubt\n//\t" + strings.Repeat("é", 117) + "\n//\t" + strings.Repeat("é", 118) + "\n",
			"b.go": "package redoubt\nvar s = `\n" + strings.Repeat("x", 121) + "`\ntype t struct {\n\tf int `json:\"" +
				strings.Repeat("x", 121) + "\"`\n}\n// https://example.org/" + strings.Repeat("x", 121) + "\n",
			"c_test.go": "package redoubt\n//" + strings.Repeat("x", 121),
		}, []string{"a.go:3: 121 columns", "b.go:3: 122 columns"}},
		{"function length", module{ // two long ones among ninety-nine
			"a.go":      "package redoubt\n" + functions(60, 97) + functions(61, 2),
			"a_test.go": "package redoubt\n" + functions(61, 9),
		}, []string{"a.go:5822: f has 61 lines", "a.go:5883: f has 61 lines"}},
		// two long ones among a hundred
		{"function length", module{"a.go": "package redoubt\n" + functions(60, 98) + functions(61, 2)}, nil},
		{"tenant in statements", module{
			"internal/store/testdata/schema.postgres.sql": "deployment.id bigint\nfinding.deployment_id bigint\n" +
				"lineage.deployment_id bigint\nuser_role.deployment_id bigint\nkev.cve text\n",
			"internal/sqldb/a.go": "package sqldb\nvar SharedTables = []string{\"user_role\"}\nconst From = ` FROM finding`",
			"internal/store/a.go": "package store\nconst columns = `id, state`\nfunc good(by string) []string { return []string{" +
				"`SELECT `+columns+` FROM finding WHERE deployment_id = $1 AND `+by, " +
				"`SELECT f.id FROM finding f JOIN lineage l ON l.deployment_id = f.deployment_id AND l.id = f.lineage_id " +
				"WHERE f.deployment_id = $1`, " +
				"`UPDATE finding SET state = $2 WHERE deployment_id = $1`, `INSERT INTO finding (deployment_id) VALUES ($1)`, " +
				"`SELECT role FROM user_role`, `SELECT version FROM deployment WHERE id = $1` } }",
			"internal/store/findings/b.go": "package findings\nimport db \"" + modulePath + "/internal/sqldb\"\n" +
				"func bad() []string { return []string{`SELECT id`+db.From,\n" +
				"`SELECT f.id FROM finding f JOIN lineage l ON l.id = f.lineage_id WHERE f.deployment_id = $1`,\n" +
				"`SELECT f.id FROM finding f JOIN kev k ON k.cve = f.rule WHERE f.deployment_id = $1`,\n" +
				"`UPDATE finding SET deployment_id = $2 WHERE deployment_id = $1`,\n" +
				"`SELECT id FROM deployment ORDER BY id`} }",
			"cmd/a.go": "package main\nfunc ignored() string { return `SELECT id FROM finding` }",
		}, []string{
			"internal/store/findings/b.go:3: no tenant for finding", "internal/store/findings/b.go:3: no single tenant",
			"internal/store/findings/b.go:4: no tenant for lineage",
			"internal/store/findings/b.go:5: joins the tenant table finding with the shared table kev",
			"internal/store/findings/b.go:6: moves rows to another tenant",
			"internal/store/findings/b.go:7: no tenant for deployment", "internal/store/findings/b.go:7: no single tenant",
		}},
		{"tenant in statements", module{"internal/store/a.go": "package store"}, []string{"schema.postgres.sql: not found"}},
		{"SQL in the store", module{
			"internal/store/findings/a.go": "package findings\nconst good = `DELETE FROM finding WHERE deployment_id = $1`",
			"internal/apihttp/a.go":        "package apihttp\nconst bad = ` UPDATE finding\n SET state = 1`",
			"cmd/redoubt/a.go":             "package main\nconst bad, good = \"DELETE FROM finding\", `Select a file from the list`",
		}, []string{"cmd/redoubt/a.go:2: SQL is only for internal/store", "internal/apihttp/a.go:2: SQL is only for internal/store"}},
		{"migration numbers", module{
			"internal/store/migrations/00001_a.sql":          "",
			"internal/store/migrations/00001_e.sql":          "",
			"internal/store/migrations/00002_b.postgres.sql": "",
			"internal/store/migrations/00002_b.sqlite.sql":   "",
			"internal/store/migrations/00002_c.postgres.sql": "",
			"internal/store/migrations/3_f.sql":              "",
			"internal/store/testdata/00001_g.sql":            "",
		}, []string{
			"internal/store/migrations/00001_e.sql: has the number of internal/store/migrations/00001_a.sql",
			"internal/store/migrations/00002_c.postgres.sql: has the number",
			"internal/store/migrations/3_f.sql: invalid name",
		}},
		{"machine paths", module{
			"README.md":               "Look in `/ro" + "ot/logs`.\nIn a/wo" + "rk/b and https://host/ro" + "ot/x is nothing.",
			"scripts/a":               "cd /wo" + "rk/main",
			"internal/job/testdata/a": "/wo" + "rk/main",
			"internal/job/a_test.go":  "package job // /t" + "mp/x",
			"image.png":               "\x00/wo" + "rk/main",
			"web/chart.js":            "/t" + "mp/x",
			thirdParty:                "`web/chart.js` is made by others.",
		}, []string{"README.md:1: ", "scripts/a:1: "}},
		{"unfinished work", module{
			"a.go":      "package redoubt\n// TO" + "DO: more",
			"a_test.go": "package redoubt // FIX" + "ME",
			"b.go":      "package redoubt // mktemp redoubt.XX" + "XXXX, or an octodo",
		}, []string{"a.go:2: ", "a_test.go:1: "}},
		{"links", module{
			"README.md": "# A page\n[a](docs/a.md#two-words-at-2) [b](docs) [c](https://x.example/y) [d](#a-page)\n" +
				"```\n[e](none.md)\n```\n[f](none.md)",
			"docs/a.md":     "## Two `words`, at §2\n[up](../README.md#another)\n[side](a.go)",
			"internal/a.go": "package redoubt // [a](none.md)",
		}, []string{
			"README.md: links to none.md", "docs/a.md: links to #another of README.md", "docs/a.md: links to docs/a.go",
		}},
	}
	violated := map[string]bool{}
	for _, tt := range tests {
		violated[tt.rule] = violated[tt.rule] || len(tt.want) > 0
		t.Run(tt.rule, func(t *testing.T) {
			folder := fstest.MapFS{}
			for name, content := range tt.files {
				folder[name] = &fstest.MapFile{Data: []byte(content)}
			}
			src, err := readSource(folder, slices.Collect(maps.Keys(tt.files)))
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rules {
				if r.name == tt.rule {
					expect(t, r.check(src).messages(), tt.want)
				}
			}
		})
	}
	for _, r := range rules {
		if !violated[r.name] {
			t.Errorf("no module violates the rule %q", r.name)
		}
	}
}

// expect compares messages with their expected beginnings.
func expect(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("messages:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// table returns a page with rows, each given as package and layer.
func table(rows ...string) (page string) {
	for _, r := range rows {
		dir, layer, _ := strings.Cut(r, " ")
		page += fmt.Sprintf("| `%s` | %s | a package |\n", dir, layer)
	}
	return page
}

// imports returns a file that imports the paths.
func imports(paths ...string) string {
	text := "package p\n"
	for _, p := range paths {
		text += fmt.Sprintf("import _ %q\n", p)
	}
	return text
}

// chain returns a module in which each package imports the next.
func chain(dirs ...string) module {
	files := module{}
	for i, dir := range dirs[:len(dirs)-1] {
		files[dir+"/a.go"] = imports(strings.TrimSuffix(modulePath+"/"+dirs[i+1], "/."))
	}
	return files
}

// lines returns a file with count lines.
func lines(count int) string { return "package p\n" + strings.Repeat("\n", count-1) }

// functions returns count functions with the number of lines.
func functions(lines, count int) string {
	return strings.Repeat("func f() {"+strings.Repeat("\n", lines-1)+"}\n", count)
}
