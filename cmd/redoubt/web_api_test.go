package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/admin"
	"github.com/redoubt/redoubt/internal/cli"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestCommandsCallAPIInProcess checks that commands call the Web API in their process, on both engines.
func TestCommandsCallAPIInProcess(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			at := storetest.Empty(t, engine)
			key := filepath.Join(t.TempDir(), "key")
			storage := config.Storage{Data: at.Dir, DatabaseURL: config.Secret(at.DatabaseURL), KeyFile: key}
			var out bytes.Buffer
			a := &command.App{Ctx: t.Context(), Out: &out, Err: &out, Clock: time.Now, Log: slog.New(slog.DiscardHandler), Getenv: os.Getenv, Environ: os.Environ, OpenInProcess: openInProcess}
			st, err := a.Create(storage)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := st.CreateDeployment(t.Context(), "acme", "Acme", a.Actor()); err != nil {
				t.Fatal(err)
			}
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
			api := webapi.Flags{Reach: webapi.Reach{Storage: storage}, Output: "table"}
			for _, command := range []interface{ Run(*command.App) error }{
				cli.ProjectsCreateCmd{Flags: api, Name: "acme/web"},
				cli.ProjectsRenameCmd{Flags: api, Name: "acme/web", To: "acme/site"},
				cli.ProjectsListCmd{Flags: api},
				admin.AuditCmd{Tenant: command.Tenant{Storage: storage}, Limit: 100},
			} {
				if err := command.Run(a); err != nil {
					t.Errorf("%T: %v", command, err)
				}
				if err := a.End(); err != nil {
					t.Errorf("%T: %v", command, err)
				}
			}
			for _, want := range []string{"created acme/web", "acme/web is now acme/site", "acme/site  main", `"by":"cli:`} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing:\n%s", want, out.String())
				}
			}
		})
	}
}

// TestFormerCommandNames checks that former command names are mapped to the current ones.
func TestFormerCommandNames(t *testing.T) {
	for old, now := range map[string]string{
		"project list":                       "projects list",
		"--config c.yaml project rename a b": "--config c.yaml projects rename a b",
		"connection add x --kind git":        "connections create x --kind git",
		"connections remove 1":               "connections delete 1",
		"run start acme/run":                 "runs start acme/run",
		"scan failures":                      "scans failures",
		"export --output x.csv":              "findings export --output x.csv",
		"man project merge":                  "man projects merge",
		"vex add a.json --project a/*":       "exceptions import a.json --project a/*",
		"vex export":                         "sbom --format openvex",
		"vex export --project a --format cyclonedx --output=x": "sbom a --format cyclonedx --to=x",
		"policy":                         "policies",
		"policy set code --block-all":    "policies update code --block-all",
		"policy condition add code":      "policies conditions create code",
		"policy condition remove code 1": "policies conditions delete code 1",
		"policy remove run":              "policies remove-rule run",
		"token add run":                  "token add run",
		"--help":                         "--help",
		"":                               "",
	} {
		if got := currentWords(strings.Fields(old)); !slices.Equal(got, strings.Fields(now)) {
			t.Errorf("%q is %q, not %q", old, got, now)
		}
	}
}

// TestNounWithoutVerbLists checks that a noun without a verb lists, with the flags of its list.
func TestNounWithoutVerbLists(t *testing.T) {
	for _, noun := range []string{"projects", "scans", "runs", "connections", "findings", "tickets", "exceptions", "notifications", "policies"} {
		parser, err := newParser(&commandLine{})
		if err != nil {
			t.Fatal(err)
		}
		line, err := parser.Parse([]string{noun, "--output", "json"})
		if err != nil || line.Command() != noun+" list" {
			t.Errorf("%s alone: %v", noun, err)
		}
	}
}

// TestLimitAndAllAreExclusive checks that --limit and --all exclude each other.
func TestLimitAndAllAreExclusive(t *testing.T) {
	parser, err := newParser(&commandLine{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse([]string{"scans", "list", "--limit", "1", "--all"}); err == nil {
		t.Error("--limit and --all are taken together")
	}
}
