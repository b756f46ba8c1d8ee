package main

import (
	"bytes"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/config"
)

// ownRunnersOf is a server that is to have runners inside, and what it logs.
func ownRunnersOf(t *testing.T, isolation string) (*service, *app, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	a := &app{log: slog.New(slog.NewTextHandler(log, nil))}
	c := config.Server{PublicURL: "https://redoubt.example", Runner: true, Isolation: isolation}
	return &service{log: a.log, config: c, storage: config.Storage{Data: t.TempDir()}}, a, log
}

// TestABuiltInRunnerNeedsASandbox unless the server is told to go without, which its log says.
func TestABuiltInRunnerNeedsASandbox(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // there is no bubblewrap
	for isolation, begins := range map[string]bool{"": false, "required": false, "auto": true, "none": true} {
		t.Run(isolation, func(t *testing.T) {
			s, a, log := ownRunnersOf(t, isolation)
			told := map[int64]string{}
			for range 2 {
				begun := s.beginOwnRunners(t.Context(), a, []redoubt.Deployment{{ID: 1, Slug: "acme"}}, http.DefaultTransport, told)
				if !begins && len(begun) > 0 {
					t.Fatal("it begins without a sandbox")
				}
			}
			if told[1] == "" != begins {
				t.Errorf("it is told %q", told[1])
			}
			want := "scans without a sandbox"
			if !begins {
				want = "--isolation"
			}
			if strings.Count(log.String(), want) != 1 {
				t.Errorf("the log is to say %q once:\n%s", want, log)
			}
		})
	}
}

// TestADeploymentWithoutARunnerHoldsUpNoOther, and has one once what was in its way is gone.
func TestADeploymentWithoutARunnerHoldsUpNoOther(t *testing.T) {
	s, a, log := ownRunnersOf(t, "none")
	inTheWay := filepath.Join(s.storage.Data, "runner", "1", "id")
	if err := os.MkdirAll(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	told := map[int64]string{}
	deployments := []redoubt.Deployment{{ID: 1, Slug: "one"}, {ID: 2, Slug: "two"}}
	begin := func() (slugs string) {
		for _, r := range s.beginOwnRunners(t.Context(), a, deployments, http.DefaultTransport, told) {
			slugs += r.deployment.Slug + " "
		}
		return slugs
	}
	if got := begin(); got != "two " {
		t.Errorf("begun are %q\n%s", got, log)
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	if got := begin(); got != "one " {
		t.Errorf("begun are then %q\n%s", got, log)
	}
	if got := begin(); got != "" {
		t.Errorf("begun again are %q", got)
	}
}
