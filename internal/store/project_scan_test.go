package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// scanned is the project of a scan, and the known project that it is expected to match.
type scanned struct {
	what string
	scan model.Project
	want model.Project
	is   int // index of the known project; -1 for a new one
}

var known = []model.Project{
	{Name: "acme/one", RepoID: "1", URL: "https://one", Tags: []string{"old"}},
	{Name: "acme/two"},
	{Name: "acme/three", RepoID: "3"}, // later renamed to acme/tres
}

var scannedProjects = []scanned{
	{"by name", model.Project{Name: "acme/two"}, model.Project{Name: "acme/two"}, 1},
	{
		"by name, bringing what was not known",
		model.Project{Name: "acme/two", RepoID: "2", URL: "https://two", Tags: []string{"a"}},
		model.Project{Name: "acme/two", RepoID: "2", URL: "https://two", Tags: []string{"a"}},
		1,
	},
	{"telling nothing, it forgets nothing", model.Project{Name: "acme/one"}, known[0], 0},
	{
		"another URL and other tags",
		model.Project{Name: "acme/one", RepoID: "1", URL: "https://uno", Tags: []string{"new", "old"}},
		model.Project{Name: "acme/one", RepoID: "1", URL: "https://uno", Tags: []string{"new", "old"}},
		0,
	},
	{
		"renamed at its host",
		model.Project{Name: "acme/uno", RepoID: "1"},
		model.Project{Name: "acme/uno", RepoID: "1", URL: "https://one", Tags: []string{"old"}},
		0,
	},
	{"renamed to a name in use", model.Project{Name: "acme/two", RepoID: "1"}, known[0], 0},
	{"by an old name", model.Project{Name: "acme/three"}, model.Project{Name: "acme/tres", RepoID: "3"}, 2},
	{"by an old name, back again", model.Project{Name: "acme/three", RepoID: "3"}, model.Project{Name: "acme/three", RepoID: "3"}, 2},
	{"another repository under an old name", model.Project{Name: "acme/three", RepoID: "4"}, model.Project{Name: "acme/three", RepoID: "4"}, -1},
	{"another repository under a name in use", model.Project{Name: "acme/one", RepoID: "9"}, model.Project{Name: "acme/one", RepoID: "9", URL: "https://one", Tags: []string{"old"}}, 0},
	{"unknown", model.Project{Name: "acme/new", RepoID: "5", Tags: []string{"x"}}, model.Project{Name: "acme/new", RepoID: "5", Tags: []string{"x"}}, -1},
	{"a name in another case", model.Project{Name: "Acme/two"}, model.Project{Name: "Acme/two"}, -1},
	{"the noisy tenant's repository", model.Project{Name: "acme/payments", RepoID: "repo-2"}, model.Project{Name: "acme/payments", RepoID: "repo-2"}, -1},
}

func TestProjectForScan(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for i, c := range scannedProjects {
			t.Run(c.what, func(t *testing.T) { findsProject(t, s, fmt.Sprint("case-", i), c) })
		}
	})
}

func findsProject(t *testing.T, s *store.Store, slug string, c scanned) {
	d, err := s.CreateDeployment(t.Context(), slug, "", storetest.Actor)
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
		for _, p := range known {
			p, err := tx.CreateProject(ctx, p)
			if err != nil {
				return err
			}
			ids = append(ids, p.ID)
		}
		_, err := tx.RenameProject(ctx, ids[2], "acme/tres")
		return err
	})
	var got model.Project
	find := func(ctx context.Context, tx *store.Tx) (err error) {
		found, err := tx.ProjectForScan(ctx, nil, c.scan)
		if err != nil {
			return err
		}
		got, err = tx.UpdateProjectByScan(ctx, nil, found.ID, c.scan)
		return err
	}
	update(t, s, d, find)
	if c.is >= 0 && got.ID != ids[c.is] || c.is < 0 && got.ID <= ids[2] {
		t.Errorf("the scan is of project %d; known are %v", got.ID, ids)
	}
	same(t, "the project", model.Project{Name: got.Name, URL: got.URL, Tags: got.Tags, RepoID: got.RepoID}, c.want)
	view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
		read, err := tx.ProjectByName(ctx, got.Name)
		same(t, "read by its name", read, got)
		return err
	})
	before := deployment(t, s, d.Slug)
	update(t, s, d, find)
	same(t, "the deployment after the same scan again", deployment(t, s, d.Slug), before)
}

func TestProjectForScanRejectsInvalidNames(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		invalid(t, "one segment", s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.ProjectForScan(ctx, nil, model.Project{Name: "acme"})
			return err
		}), "project")
	})
}
