package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/sbom"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// supplyChain returns the data of a project that a bill of materials can change: a line for each
// dependency, edge and unresolved finding. The transitivity is the closest one in all lockfiles,
// because a bill of materials has only one.
func (p *player) supplyChain(t *testing.T, project string) (dependencies, findings []string) {
	t.Helper()
	err := p.service.store.View(t.Context(), p.deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		found, err := tx.ProjectByName(ctx, project)
		if err != nil {
			return err
		}
		list, edges, err := tx.DependencyGraph(ctx, found.ID, "")
		if err != nil {
			return err
		}
		names, closest := map[int64]string{}, map[string]model.Transitivity{}
		for _, d := range list {
			key := d.Ecosystem + " " + d.Name + " " + d.Version
			closest[key] = min(d.Transitivity, cmp.Or(closest[key], d.Transitivity))
		}
		for _, d := range list {
			names[d.ID] = fmt.Sprintf("%s:%d %s %s@%s", d.Lockfile, d.Line, d.Ecosystem, d.Name, d.Version)
			dependencies = append(dependencies, fmt.Sprintf("%s %v %v", names[d.ID], closest[d.Ecosystem+" "+d.Name+" "+d.Version], d.Supplier))
		}
		for _, e := range edges {
			dependencies = append(dependencies, names[e.From]+" > "+names[e.To])
		}
		return tx.SupplyChainFindings(ctx, found.ID, found.Primary(), func(f model.IndexedFinding, r model.Rule, l model.Lineage) error {
			findings = append(findings, fmt.Sprintf("%s %s %v %s by %s", f.Path, f.Package, l.Triage.State, f.RuleName, f.Source))
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(dependencies)
	slices.Sort(findings)
	return dependencies, findings
}

func (p *player) bill(t *testing.T, r model.SBOMRequest, project string) (doc []byte) {
	t.Helper()
	r.ComponentType = "application"
	err := p.service.store.View(t.Context(), p.deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		found, err := tx.ProjectByName(ctx, project)
		if err != nil {
			return err
		}
		r.ProjectID = found.ID
		doc, _, err = sbom.Export(ctx, tx, r, sbom.Options{Created: p.clock.now()})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// importBill imports a document as a full scan of a project's primary branch.
func (p *player) importBill(t *testing.T, project string, doc []byte) {
	t.Helper()
	_, err := p.clients[""].ImportReports(t.Context(), p.deployment.Slug, api.ImportQuery{Project: project, Ref: "main", Full: true}, []api.File{{Name: "bom", Data: doc}})
	if err != nil {
		t.Fatal(err)
	}
}

// scannedByTrivy is a scanner's bill of materials with findings that are not in the advisories.
const scannedByTrivy = `{"bomFormat":"CycloneDX","specVersion":"1.6","metadata":{"tools":{"components":[{"type":"application","name":"trivy","version":"0.60"}]}},
	"components":[{"type":"application","bom-ref":"lock","name":"yarn.lock"},
		{"type":"library","bom-ref":"a","name":"a","version":"1.0.0","purl":"pkg:npm/a@1.0.0","supplier":{"name":"Acme"}},
		{"type":"library","bom-ref":"b","name":"b","version":"2.0.0","purl":"pkg:npm/b@2.0.0"}],
	"dependencies":[{"ref":"lock","dependsOn":["a"]},{"ref":"a","dependsOn":["b"]}],
	"vulnerabilities":[{"id":"CVE-2099-1","ratings":[{"severity":"high"}],"affects":[{"ref":"b"}]}]}`

// vulnerable lists the advisories of package versions and lockfiles of a project, from all sources.
func (p *player) vulnerable(t *testing.T, project string) (list []string) {
	t.Helper()
	err := p.service.store.View(t.Context(), p.deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		found, err := tx.ProjectByName(ctx, project)
		if err != nil {
			return err
		}
		lists, err := tx.Subjects(ctx, []model.ProjectRef{{ProjectID: found.ID, Ref: found.Primary()}})
		if err != nil {
			return err
		}
		subjects := lists[0]
		groups, err := tx.AdvisoryGroupsNamed(ctx, namesOf(subjects))
		if err != nil {
			return err
		}
		transitivity := map[int64]model.Transitivity{}
		err = tx.SupplyChainFindings(ctx, found.ID, found.Primary(), func(f model.IndexedFinding, _ model.Rule, _ model.Lineage) error {
			transitivity[f.ID] = f.Transitivity
			return nil
		})
		for i := range subjects {
			s := &subjects[i]
			if t, live := transitivity[s.FindingID]; live {
				name := cmp.Or(s.Vulnerability, s.Rule)
				if group := cmp.Or(s.Group, groups[strings.ToUpper(name)]); group != 0 {
					name = fmt.Sprint("advisories of group ", group)
				}
				list = append(list, fmt.Sprintf("%s %s %s@%s %v: %s", s.Lockfile, s.Ecosystem, s.Package, s.Version, t, name))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func namesOf(subjects []model.Subject) (names []string) {
	for i := range subjects {
		names = append(names, strings.ToUpper(cmp.Or(subjects[i].Vulnerability, subjects[i].Rule)))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// TestDemoSBOMsRoundTrip imports exported bills of materials into their projects, which changes
// nothing, and into new projects, which then have the same dependencies.
func TestDemoSBOMsRoundTrip(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) { checkSBOMRoundTrips(t, storetest.Empty(t, engine)) })
	}
}

func checkSBOMRoundTrips(t *testing.T, at store.Config) {
	clock := &demoClock{real: time.Now}
	a := &command.App{Ctx: t.Context(), Out: io.Discard, Err: io.Discard, Log: slog.New(slog.DiscardHandler), Clock: clock.now, Getenv: os.Getenv, Environ: os.Environ}
	st, err := a.Create(config.Storage{Data: at.Dir, DatabaseURL: config.Secret(at.DatabaseURL)})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := newService(a, config.Storage{KeyFile: t.TempDir() + "/key"}, config.Server{Addr: "127.0.0.1:0", MaxUpload: 256 << 20, ShutdownTimeout: time.Second}, st)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.close() }()
	p := &player{app: a, service: s, clock: clock, start: time.Now()}
	if err := p.play(); err != nil {
		t.Fatal(err)
	}
	p.importBill(t, "acme/scanned", []byte(scannedByTrivy))
	for _, project := range []string{"acme/web-shop", "acme/payments", "acme/gateway", "acme/scanned"} {
		for i, r := range []model.SBOMRequest{
			{Format: model.CycloneDX, Version: "1.6"}, {Format: model.SPDX, Version: "2.3"}, {Format: model.CycloneDX, Version: "1.4", XML: true},
		} {
			dependencies, findings := p.supplyChain(t, project)
			if len(dependencies) < 2 || len(findings) == 0 {
				t.Fatalf("%s has %d dependencies and %d findings", project, len(dependencies), len(findings))
			}
			doc := p.bill(t, r, project)
			vulnerable := p.vulnerable(t, project)
			advised := func(where string) {
				t.Helper()
				want := vulnerable
				if where != project { // new projects only have findings of the advisories
					want = slices.DeleteFunc(slices.Clone(want), func(s string) bool { return !strings.Contains(s, ": advisories ") })
				}
				if diff := gocmp.Diff(want, p.vulnerable(t, where), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s %s, into %s: what is vulnerable (-there +here):\n%s", project, r.Format, where, diff)
				}
			}
			same := func(where string, alsoFindings bool) {
				t.Helper()
				nowDependencies, nowFindings := p.supplyChain(t, where)
				if diff := gocmp.Diff(dependencies, nowDependencies); diff != "" {
					t.Errorf("%s %s, into %s: dependencies (-before +after):\n%s", project, r.Format, where, diff)
				}
				if diff := gocmp.Diff(findings, nowFindings); diff != "" && alsoFindings {
					t.Errorf("%s %s, into %s: findings (-before +after):\n%s", project, r.Format, where, diff)
				}
			}
			fresh := fmt.Sprintf("%s-%d", project, i)
			p.importBill(t, fresh, doc)
			same(fresh, false)
			advised(fresh)
			p.importBill(t, project, doc)
			same(project, true)
			advised(project)
			p.importBill(t, fresh, p.bill(t, r, fresh))
			same(fresh, false)
		}
	}
}
