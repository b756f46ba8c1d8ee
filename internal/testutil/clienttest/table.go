package clienttest

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Names lists the clients in docs/guides/clients.md, in the order of its table. Each has a test
// that calls CheckRow.
var Names = []string{
	"semgrep ci", "semgrep login", "semgrep show", "semgrep mcp", "semgrep-mcp", "cartography",
	"apimatic-semgrep-sdk", "oapi-codegen", "openapi-typescript", "openapi-python-client",
	"openapi-generator for Go", "openapi-generator for Python",
	"MCP SDK for Go", "MCP SDK for Python",
}

// Reads is the verdict on a client that reads all data correctly.
const Reads = "reads all data correctly"

// Client is a row of the table.
type Client struct {
	Name     string // one of Names
	Version  string
	Requests []string // requests, as "GET /api/v1/deployments"; for assistants, tool names
	Verdict  string
}

// Update is the flag -update of tests that write pages of the documentation.
var Update = flag.Bool("update", false, "write the rows of docs/guides/clients.md")

const (
	docs   = "docs/guides/clients.md"
	header = "| client | version | operations | verdict |\n|---|---|---|---|\n"
)

// CheckRow compares the row of docs/guides/clients.md with the result of a test. With the flag -update
// it writes the row.
func CheckRow(t *testing.T, c Client) {
	t.Helper()
	if t.Failed() {
		return // no verdict
	}
	if !slices.Contains(Names, c.Name) {
		t.Fatalf("clienttest.Names has no %q", c.Name)
	}
	row := fmt.Sprintf("| %s | %s | %s | %s |\n", c.Name, c.Version, operations(t, c.Requests), c.Verdict)
	if *Update {
		rewrite(t, c.Name, row)
		return
	}
	if text := read(t, docs); !strings.Contains(text, "\n"+row) {
		t.Errorf("%s lacks the row below; run with -update to write it\n%s", docs, row)
	}
}

// rewrite replaces or inserts a row of the table. It locks the file, because tests of other
// packages may write at the same time.
func rewrite(t *testing.T, name, row string) {
	t.Helper()
	lock, err := os.Open(path(t, docs))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(read(t, docs), header)
	if !found {
		t.Fatalf("%s has no table that begins with\n%s", docs, header)
	}
	rows, after := map[string]string{name: row}, rest
	for strings.HasPrefix(after, "| ") {
		line, behind, _ := strings.Cut(after, "\n")
		if of := nameOf(line); of != name {
			rows[of] = line + "\n"
		}
		after = behind
	}
	text := []string{before, header}
	for _, known := range Names {
		text = append(text, rows[known])
	}
	if err := os.WriteFile(path(t, docs), []byte(strings.Join(append(text, after), "")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// nameOf returns the first cell of a table row.
func nameOf(line string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
	return name
}

var (
	number   = regexp.MustCompile(`/[0-9a-f-]*[0-9][0-9a-f-]*(/|$)`)
	platform = regexp.MustCompile(`/deepbinary/.*`)
)

// operations formats requests: as the operation id in openapi.json, or else as the request, with N
// for variable parts.
func operations(t *testing.T, requests []string) string {
	t.Helper()
	var spec struct {
		Paths map[string]map[string]struct {
			ID string `json:"operationId"`
		} `json:"paths"`
	}
	if err := json.Unmarshal([]byte(read(t, "api/openapi.json")), &spec); err != nil {
		t.Fatal(err)
	}
	known := map[string]string{} // by a pattern of its path
	for template, methods := range spec.Paths {
		for method, o := range methods {
			template := strings.ReplaceAll(template, "{projectName}", ".+") // its slashes may be unescaped
			known["^"+strings.ToUpper(method)+" "+part.ReplaceAllString(template, "[^/]+")+"$"] = o.ID
		}
	}
	var out []string
	for _, request := range requests {
		out = append(out, "`"+nameOfRequest(known, request)+"`")
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ", ")
}

var part = regexp.MustCompile(`\{[^}]*\}`)

func nameOfRequest(known map[string]string, request string) string {
	best := ""
	for pattern, id := range known { // the longest pattern matches best: …/findings/counts is not a finding
		if len(pattern) > len(best) && regexp.MustCompile(pattern).MatchString(request) && id != "" {
			best = pattern
		}
	}
	if best != "" {
		return known[best]
	}
	return platform.ReplaceAllString(number.ReplaceAllString(request, "/N$1"), "/deepbinary/N")
}

// Pinned returns the version of a program that scripts/setup installs.
func Pinned(t *testing.T, name string) string {
	t.Helper()
	found := regexp.MustCompile(
		`(?m)^readonly ` + regexp.QuoteMeta(strings.ReplaceAll(name, "-", "_")) + `_version=(\S+)`,
	).FindStringSubmatch(read(t, "scripts/setup"))
	if found == nil {
		t.Fatalf("scripts/setup has no version of %s", name)
	}
	return found[1]
}

// Required returns the version of a module in go.mod.
func Required(t *testing.T, module string) string {
	t.Helper()
	found := regexp.MustCompile(
		`(?m)^\s*(?:require )?` + regexp.QuoteMeta(module) + ` v(\S+)`,
	).FindStringSubmatch(read(t, "go.mod"))
	if found == nil {
		t.Fatalf("go.mod does not require %s", module)
	}
	return found[1]
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(path(t, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// path returns the path of a file in the repository.
func path(t *testing.T, file string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, file)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("go.mod not found in this or a parent folder")
		}
		dir = parent
	}
}
