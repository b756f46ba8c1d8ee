package store_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/sbom"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

var _ sbom.Store = (*store.Tx)(nil)

// exported contains the fields of a CycloneDX document that the tests use.
type exported struct {
	Metadata struct {
		Component struct{ Name, Version string }
	}
	Components      []struct{ PURL string }
	Vulnerabilities []struct{ ID string }
}

func (e exported) purls() (list []string) {
	for _, c := range e.Components {
		list = append(list, c.PURL)
	}
	return list
}

func (e exported) vulnerabilities() (list []string) {
	for _, v := range e.Vulnerabilities {
		list = append(list, v.ID)
	}
	return list
}

func (d tenant) export(r model.SBOMRequest) (e exported) {
	d.t.Helper()
	r.Format, r.Version, r.ComponentType = model.CycloneDX, "1.5", "application"
	d.view(func(ctx context.Context, tx *store.Tx) error {
		doc, _, err := sbom.Export(ctx, tx, r, sbom.Options{Created: tx.Now()})
		d.check(err)
		return json.Unmarshal(doc, &e)
	})
	return e
}

// bill adds two inventories and findings of all kinds to a project. One finding belongs in the bill
// of materials.
func (d tenant) bill(name string) model.Project {
	d.t.Helper()
	p := d.project(name)
	d.update(func(ctx context.Context, tx *store.Tx) error {
		for i, file := range []string{"go.mod", "package-lock.json"} {
			_, _, err := tx.PutInventory(ctx, model.InventoryStatement{
				ProjectID: p.ID, Ref: p.Primary(), Source: "semgrep", ScanID: 1, Commit: "c" + file, At: tx.Now().Add(time.Duration(i) * time.Hour),
				Digest: model.Digest{1}, Inventory: model.Inventory{Lockfile: file, Dependencies: []model.Dependency{
					{Lockfile: file, Ecosystem: "npm", Name: strings.TrimSuffix(file, ".mod"), Version: "1", Transitivity: model.Direct, Licenses: []string{}},
				}},
			})
			d.check(err)
		}
		return nil
	})
	d.findings(p, 5, func(i int, w *model.FindingWrite) {
		w.IssueType = model.SCA
		w.Body = []byte(`"found_dependency":{"ecosystem":"npm","package":"go","version":"1"},"vulnerability_identifier":"CVE-2024-` + "1234"[:i] + `"`)
		switch i {
		case 0:
			w.IssueType = model.SAST
		case 1:
			w.State = model.Fixed
		case 2:
			w.Ref = "refs/heads/other"
		case 3:
			w.State = model.Muted
		}
	})
	return p
}

func TestSBOMExportReadsCurrentState(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		payments, tools := d.bill("acme/payments"), d.bill("acme/tools")
		e := d.export(model.SBOMRequest{ProjectID: payments.ID})
		if e.Metadata.Component.Name != "acme/payments" || e.Metadata.Component.Version != "cpackage-lock.json" {
			t.Errorf("root = %+v, want the project at the commit of its newest inventory", e.Metadata.Component)
		}
		if got := e.purls(); !slices.Equal(got, []string{"pkg:npm/go@1", "pkg:npm/package-lock.json@1"}) {
			t.Errorf("components = %v", got)
		}
		if got := e.vulnerabilities(); !slices.Equal(got, []string{"CVE-2024-1234"}) {
			t.Errorf("vulnerabilities = %v, want the unresolved one of the primary branch", got)
		}
		e = d.export(model.SBOMRequest{ProjectID: tools.ID, Ref: "other"})
		if got := e.vulnerabilities(); !slices.Equal(got, []string{"CVE-2024-12"}) || e.Metadata.Component.Version != "other" {
			t.Errorf("another branch: vulnerabilities = %v, version %q", got, e.Metadata.Component.Version)
		}
		if e := d.export(model.SBOMRequest{}); len(e.Components) != 4 {
			t.Errorf("the deployment has %d components, want two projects and two packages", len(e.Components))
		}
		if e := d.export(model.SBOMRequest{Visible: model.ProjectGlobs{"acme/t*"}}); len(e.Components) != 3 {
			t.Errorf("who sees one project gets %d components, want it and two packages", len(e.Components))
		}
	})
}
