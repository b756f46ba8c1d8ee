package conformance

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/testutil/clienttest"
)

// generated is a client that a generator creates from openapi.json.
type generated struct {
	generator, language string // language is also the folder in testdata/generated
	// make generates the client and its dependencies into the folder, and returns the command that
	// runs the program.
	make func(t *testing.T, tools, folder, spec string) *exec.Cmd
}

var generators = []generated{
	{"oapi-codegen", "go", generatedGo},
	{"openapi-typescript", "typescript", generatedTypeScript},
	{"openapi-python-client", "python", generatedPython},
	{"openapi-generator for Go", "openapi-generator-go", generatorGo},
	{"openapi-generator for Python", "openapi-generator-python", generatorPython},
}

// TestGeneratedClients generates a client with each generator, compiles it and calls the ten
// operations of the contract. It must read the same data as the Go client.
func TestGeneratedClients(t *testing.T) {
	tools := os.Getenv("REDOUBT_TEST_GENERATORS")
	if tools == "" {
		t.Skip("REDOUBT_TEST_GENERATORS names no folder with generators of clients: run make setup, which installs them into .cache/generators, and make test")
	}
	spec, err := filepath.Abs("../../api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, "sqlite")
	for _, g := range generators {
		t.Run(g.generator, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			if err := os.CopyFS(folder, os.DirFS(filepath.Join("testdata", "generated", g.language))); err != nil {
				t.Fatal(err)
			}
			want := w.tenOperations(t)
			client := g.make(t, tools, folder, spec)
			client.Dir = folder
			service := clienttest.Start(t, w.url)
			client.Env = append(os.Environ(), "SERVER="+service.URL, "TOKEN="+w.token, "DEPLOYMENT="+w.deployment.Slug,
				"PROJECT="+itoa(w.projectID("acme/payments")), "POLICY="+w.policyID(t, "PRODUCT_TYPE_SAST"))
			var got map[string]any
			if err := json.Unmarshal(run(t, client), &got); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(g.generator, "openapi-generator") {
				want["supply chain"] = mapped(w.supply[:min(len(w.supply), 100)], func(f supplyRow) any { return float64(f.ID) })
			}
			want["tags"] = []any{"made", "by " + g.language}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("our client and the generated one read (-ours +its):\n%s", diff)
			}
			program, _, _ := strings.Cut(g.generator, " ")
			clienttest.CheckRow(t, clienttest.Client{Name: g.generator, Version: clienttest.Pinned(t, program), Requests: service.Requests(), Verdict: clienttest.Reads})
		})
	}
}

// run runs a command and returns its output.
func run(t *testing.T, c *exec.Cmd) []byte {
	t.Helper()
	var errors strings.Builder
	c.Stderr = &errors
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s\n%s", c.Args, err, out, errors.String())
	}
	return out
}

// in runs a program in a folder.
func in(t *testing.T, folder, program string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, args...)
	c.Dir = folder
	run(t, c)
}

func generatedGo(t *testing.T, tools, folder, spec string) *exec.Cmd {
	in(t, folder, "mkdir", "redoubt")
	in(t, folder, filepath.Join(tools, "bin", "oapi-codegen"), "-generate", "types,client", "-package", "redoubt", "-o", "redoubt/client.go", spec)
	in(t, folder, "go", "build", "-o", "client", ".")
	return exec.CommandContext(t.Context(), filepath.Join(folder, "client"))
}

func generatedTypeScript(t *testing.T, tools, folder, spec string) *exec.Cmd {
	modules := filepath.Join(tools, "node_modules")
	if err := os.Symlink(modules, filepath.Join(folder, "node_modules")); err != nil {
		t.Fatal(err)
	}
	in(t, folder, filepath.Join(modules, ".bin", "openapi-typescript"), spec, "--default-non-nullable=false", "-o", "redoubt.d.ts") // otherwise members with a default are required
	in(t, folder, filepath.Join(modules, ".bin", "tsc"), "--project", ".")
	return exec.CommandContext(t.Context(), "node", "main.js")
}

func generatedPython(t *testing.T, tools, folder, spec string) *exec.Cmd {
	bin := filepath.Join(tools, "venv", "bin")
	in(t, folder, filepath.Join(bin, "openapi-python-client"), "generate", "--path", spec, "--output-path", "redoubt", "--meta", "none")
	return exec.CommandContext(t.Context(), filepath.Join(bin, "python"), "main.py")
}

// openapiGenerator generates a client with openapi-generator, which runs on Java.
func openapiGenerator(t *testing.T, tools, folder, spec, language, packageName, output string) {
	c := exec.CommandContext(t.Context(), filepath.Join(tools, "venv", "bin", "openapi-generator-cli"), "generate", "--generator-name", language,
		"--input-spec", spec, "--output", output, "--package-name", packageName, "--global-property", "models,apis,supportingFiles,apiTests=false,modelTests=false,apiDocs=false,modelDocs=false")
	c.Dir = folder
	run(t, c)
}

func generatorGo(t *testing.T, tools, folder, spec string) *exec.Cmd {
	openapiGenerator(t, tools, folder, spec, "go", "redoubt", "redoubt")
	for _, name := range []string{"go.mod", "go.sum"} { // the package is part of the program's module
		in(t, folder, "rm", "-f", filepath.Join("redoubt", name))
	}
	in(t, folder, "go", "build", "-o", "client", ".")
	return exec.CommandContext(t.Context(), filepath.Join(folder, "client"))
}

func generatorPython(t *testing.T, tools, folder, spec string) *exec.Cmd {
	openapiGenerator(t, tools, folder, spec, "python", "redoubt", ".")
	return exec.CommandContext(t.Context(), filepath.Join(tools, "venv", "bin", "python"), "main.py")
}

// tenOperations returns the responses of the ten operations to the Go client, in the format that
// the generated clients print.
func (w *world) tenOperations(t *testing.T) map[string]any {
	t.Helper()
	ctx, c, slug := t.Context(), w.api(), w.deployment.Slug
	lesser := filterSlice(w.code, func(f codeRow) bool {
		return f.Repository.Name == "acme/payments" && (f.Severity == "low" || f.Severity == "medium")
	})
	scans, err := c.SearchScans(ctx, slug, api.SearchScansRequest{Limit: 5})
	if err != nil {
		t.Fatal(err)
	}
	dependencies, err := c.ListDependencies(ctx, slug, api.ListDependenciesRequest{DependencyFilter: &api.DependencyFilter{Name: "lodash"}})
	if err != nil {
		t.Fatal(err)
	}
	lockfiles, err := c.ListLockfiles(ctx, slug, itoa(w.projectID("acme/payments")), api.ListLockfilesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	rules, err := c.ListPolicyRules(ctx, slug, w.policyID(t, "PRODUCT_TYPE_SAST"), api.PolicyRulesQuery{})
	if err != nil {
		t.Fatal(err)
	}
	read := map[string][]any{
		"findings":     mapped(lesser[:min(len(lesser), 100)], func(f codeRow) any { return float64(f.ID) }),
		"projects":     mapped(w.projects, func(p api.Project) any { return p.Name }),
		"scans":        mapped(scans.Scans, func(s api.Scan) any { return s.ID }),
		"dependencies": mapped(dependencies.Dependencies, func(d api.Dependency) any { return d.Name + " " + d.Version }),
		"lockfiles":    mapped(lockfiles.LockfileSummaries, func(l api.LockfileSummary) any { return l.LockfilePath }),
		"rules":        mapped(rules.Rules, func(r api.PolicyRule) any { return r.Path }),
	}
	want := map[string]any{"triaged": 1.0, "full": true, "export": true}
	for name, list := range read {
		if len(list) == 0 {
			t.Fatalf("no %s to read", name)
		}
		want[name] = list
	}
	return want
}
