package ingest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/conceal"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// vexWorld is a deployment of a real store with imported files.
type vexWorld struct {
	t     *testing.T
	s     *store.Store
	clock *storetest.Clock
	id    int64

	judged int // lineages evaluated by the last import
}

// countingTx counts the evaluated lineages.
type countingTx struct {
	*store.Tx
	judged int
}

func (c *countingTx) ExceptionCases(ctx context.Context, lineages []int64) ([]model.ExceptionCase, error) {
	c.judged += len(lineages)
	return c.Tx.ExceptionCases(ctx, lineages)
}

func eachVEXWorld(t *testing.T, test func(w *vexWorld)) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			s := storetest.Open(t, storetest.Database(t, engine, clock))
			d, err := s.CreateDeployment(t.Context(), "vex", "", storetest.Actor)
			if err != nil {
				t.Fatal(err)
			}
			test(&vexWorld{t: t, s: s, clock: clock, id: d.ID})
		})
	}
}

// imports applies files as one upload to a ref of a project.
func (w *vexWorld) imports(project, ref string, files ...string) []Summary {
	w.t.Helper()
	w.clock.Advance(time.Minute)
	reading := &report.Reading{}
	for i, text := range files {
		if err := reading.Add(strings.NewReader(text), report.Options{Name: "file" + string(rune('0'+i)) + ".json"}); err != nil {
			w.t.Fatal(err)
		}
	}
	var summaries []Summary
	err := w.s.Update(w.t.Context(), w.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) (err error) {
		upload := Upload{Project: model.Project{Name: project}, Ref: ref, Full: true, DeclaredFull: true, Decides: true}
		counted := &countingTx{Tx: tx}
		reports, err := conceal.Resolve(ctx, tx, reading.Clean(nil))
		if err != nil {
			return err
		}
		summaries, err = ApplyAll(ctx, tx, exceptions.ForImport{Store: counted}, upload, reports)
		w.judged = counted.judged
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return summaries
}

// triage returns state, reason and comment of each live finding, by package in lower case. Package
// URLs lose the case of Go modules.
func (w *vexWorld) triage(project, ref string) map[string]string {
	w.t.Helper()
	out := map[string]string{}
	err := w.s.View(w.t.Context(), w.id, func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.ProjectByName(ctx, project)
		if err != nil {
			return err
		}
		return tx.SupplyChainFindings(ctx, p.ID, model.FullRef(ref), func(f model.IndexedFinding, _ model.Rule, l model.Lineage) error {
			t := l.Triage
			out[strings.ToLower(f.Package)] = strings.TrimSpace(t.State.String() + " " + t.Reason.String() + " " + t.Comment)
			return nil
		})
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *vexWorld) want(what, project, ref string, want map[string]string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.triage(project, ref)); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// found is a report of pip-audit on two packages.
const found = `{"dependencies": [
	{"name": "django", "version": "2.0", "vulns": [{"id": "PYSEC-1", "aliases": ["CVE-2026-1"], "fix_versions": ["3"], "description": "One."}]},
	{"name": "flask", "version": "1.0", "vulns": [{"id": "PYSEC-2", "aliases": ["CVE-2026-2"], "fix_versions": [], "description": "Two."}]}
]}`

func openVEX(version, statements string) string {
	return `{"@context": "https://openvex.dev/ns/v0.2.0", "@id": "https://acme.example/vex", "author": "acme", "version": ` + version +
		`, "timestamp": "2020-01-0` + version + `T00:00:00Z", "statements": [` + statements + `]}`
}

func statement(cve, product, rest string) string {
	return `{"vulnerability": {"name": "` + cve + `"}, "products": [` + product + `], ` + rest + `}`
}

const (
	notReached = `"status": "not_affected", "justification": "vulnerable_code_not_in_execute_path", "impact_statement": "Never called."`
	isIgnored  = "ignored false_positive vulnerable_code_not_in_execute_path: Never called."
)

func TestVEXAppliesToExistingAndNewFindings(t *testing.T) {
	eachVEXWorld(t, func(w *vexWorld) {
		w.imports("acme/pay", "main", found)
		sums := w.imports("acme/pay", "", openVEX("1", statement("CVE-2026-1", `{"@id": "pkg:pypi/Django"}`, notReached)))
		if got := sums[0].VEX[0]; got.Outcome != model.VEXActive || got.Changed != 1 || got.Statements != 1 {
			t.Errorf("receipt %+v", got)
		}
		w.want("existing findings", "acme/pay", "main", map[string]string{"django": isIgnored, "flask": "untriaged"})
		w.imports("acme/pay", "feature", found)
		w.want("on a new branch", "acme/pay", "feature", map[string]string{"django": isIgnored, "flask": "untriaged"})
		w.imports("acme/shop", "main", openVEX("1", statement("cve-2026-2", `{"@id": "pkg:pypi/flask@1.0"}`, notReached)))
		w.imports("acme/shop", "main", found)
		w.want("what comes after the document", "acme/shop", "main", map[string]string{"django": "untriaged", "flask": isIgnored})
	})
}

func TestBranchVEXDoesNotAffectMain(t *testing.T) {
	eachVEXWorld(t, func(w *vexWorld) {
		w.imports("acme/pay", "main", found)
		w.imports("acme/pay", "feature", found)
		w.imports("acme/pay", "feature", openVEX("1", statement("CVE-2026-1", `{"@id": "pkg:pypi/django"}`, notReached)))
		w.want("while it lives on main too", "acme/pay", "main", map[string]string{"django": "untriaged", "flask": "untriaged"})
		w.imports("acme/pay", "main", openVEX("1", statement("CVE-2026-1", `{"@id": "pkg:pypi/django"}`, notReached)))
		w.want("once main says so", "acme/pay", "main", map[string]string{"django": isIgnored, "flask": "untriaged"})
	})
}

func TestVEXVersionsAndUserDecisions(t *testing.T) {
	eachVEXWorld(t, func(w *vexWorld) {
		w.imports("acme/pay", "main", found)
		both := statement("CVE-2026-1", `{"@id": "pkg:pypi/django"}`, notReached) + "," + statement("CVE-2026-2", `{"@id": "pkg:pypi/flask"}`, notReached)
		w.imports("acme/pay", "main", openVEX("1", both))
		w.person("flask", model.TriageFixing)
		sums := w.imports("acme/pay", "main", openVEX("2", statement("CVE-2026-1", `{"@id": "pkg:pypi/django"}`, `"status": "under_investigation"`)))
		if sums[0].VEX[0].Changed != 1 {
			t.Errorf("receipt %+v", sums[0].VEX[0])
		}
		w.want("a newer version", "acme/pay", "main", map[string]string{"django": "reviewing", "flask": "fixing"})
		if got := w.imports("acme/pay", "main", openVEX("1", both))[0].VEX[0]; got.Outcome != model.VEXOlder {
			t.Errorf("an older version: %+v", got)
		}
		w.imports("acme/pay", "main", openVEX("3", ""))
		w.want("a version that says nothing", "acme/pay", "main", map[string]string{"django": "reopened", "flask": "fixing"})
	})
}

// TestVEXUploadEvaluatesOnlyItsProject applies documents to findings of five projects. An upload to
// one of them must evaluate only that project's findings.
func TestVEXUploadEvaluatesOnlyItsProject(t *testing.T) {
	eachVEXWorld(t, func(w *vexWorld) {
		both := statement("CVE-2026-1", `{"@id": "pkg:pypi/django"}`, notReached) + "," + statement("CVE-2026-2", `{"@id": "pkg:pypi/flask"}`, notReached)
		for _, project := range []string{"acme/a", "acme/b", "acme/c", "acme/d", "acme/pay"} {
			w.imports(project, "main", found)
			w.imports(project, "main", openVEX("1", both))
		}
		w.imports("acme/pay", "main", openVEX("2", statement("CVE-2026-1", `{"@id": "pkg:pypi/django"}`, `"status": "under_investigation"`)))
		if w.judged != 2 {
			t.Errorf("a newer document had %d findings judged, want the 2 that it spoke of", w.judged)
		}
		w.want("what became of them", "acme/pay", "main", map[string]string{"django": "reviewing", "flask": "reopened"})
		w.want("of others", "acme/a", "main", map[string]string{"django": isIgnored, "flask": isIgnored})
		w.imports("acme/pay", "main", openVEX("2", statement("CVE-2026-1", `{"@id": "pkg:pypi/django"}`, `"status": "under_investigation"`)))
		if w.judged != 0 {
			t.Errorf("the same again had %d findings judged", w.judged)
		}
	})
}

// person triages a package's finding.
func (w *vexWorld) person(pkg string, state model.TriageState) {
	w.t.Helper()
	err := w.s.Update(w.t.Context(), w.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.ProjectByName(ctx, "acme/pay")
		if err != nil {
			return err
		}
		var lineages []model.Lineage
		err = tx.SupplyChainFindings(ctx, p.ID, "refs/heads/main", func(f model.IndexedFinding, _ model.Rule, l model.Lineage) error {
			if f.Package == pkg {
				lineages = append(lineages, l)
			}
			return nil
		})
		if err != nil {
			return err
		}
		return tx.UpdateTriage(ctx, []model.TriageEvent{{
			LineageID: lineages[0].ID, Before: lineages[0].Triage, At: tx.Now(), By: storetest.Actor,
			After: model.Triage{State: state, At: tx.Now(), By: storetest.Actor},
		}})
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// sbomOf returns a BOM with django and an analysis of its vulnerability. The second package has no
// analysis, so that the document is an inventory rather than VEX only.
func sbomOf(serial, timestamp, analysis string) string {
	return `{"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": "urn:uuid:` + serial + `", "version": 1,
	"metadata": {"timestamp": "` + timestamp + `", "component": {"type": "application", "name": "pay", "bom-ref": "pay"}},
	"components": [{"type": "library", "bom-ref": "c-1", "name": "django", "version": "2.0", "purl": "pkg:pypi/django@2.0"},
		{"type": "library", "bom-ref": "c-2", "name": "pytz", "version": "2020.1", "purl": "pkg:pypi/pytz@2020.1"}],
	"vulnerabilities": [{"id": "CVE-2026-1", "affects": [{"ref": "c-1"}]` + analysis + `}]}`
}

func TestNextSBOMReplacesEmbeddedVEX(t *testing.T) {
	const first, second = "aaaaaaaa-0000-4000-8000-000000000001", "aaaaaaaa-0000-4000-8000-000000000002"
	eachVEXWorld(t, func(w *vexWorld) {
		w.imports("acme/pay", "main", sbomOf(first, "2020-01-01T00:00:00Z", `, "analysis": {"state": "not_affected", "justification": "code_not_present"}`))
		w.want("the analysis", "acme/pay", "main", map[string]string{"django": "ignored false_positive code_not_present"})
		w.imports("acme/pay", "main", sbomOf(second, "2020-01-02T00:00:00Z", ""))
		w.want("without one", "acme/pay", "main", map[string]string{"django": "reopened"})
	})
}

func TestVEXFollowsBOMLinksWithinAnUpload(t *testing.T) {
	const serial = "bbbbbbbb-0000-4000-8000-000000000001"
	vex := `{"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "vulnerabilities": [{"id": "CVE-2026-1",
		"analysis": {"state": "in_triage"}, "affects": [{"ref": "urn:cdx:` + serial + `/1#c-1"}]}]}`
	eachVEXWorld(t, func(w *vexWorld) {
		sums := w.imports("acme/pay", "main", vex, sbomOf(serial, "2020-01-01T00:00:00Z", ""))
		if len(sums[0].Refused) > 0 || sums[0].VEX[0].Statements != 1 {
			t.Errorf("the document was not understood: %+v", sums[0])
		}
		w.want("whatever comes first", "acme/pay", "main", map[string]string{"django": "reviewing"})
	})
}

func TestVEXProductsAreMatchedToProject(t *testing.T) {
	eachVEXWorld(t, func(w *vexWorld) {
		w.imports("acme/pay", "main", found)
		product := func(id, pkg string) string {
			return `{"@id": "` + id + `", "subcomponents": [{"@id": "` + pkg + `"}]}`
		}
		sums := w.imports("acme/pay", "main", openVEX("1",
			statement("CVE-2026-1", product("pkg:github/acme/pay@v1", "pkg:pypi/django@2.0"), notReached)+","+
				statement("CVE-2026-2", product("pkg:github/acme/shop", "pkg:pypi/flask"), notReached)))
		if len(sums[0].Refused) != 1 || !strings.Contains(sums[0].Refused[0].Reason, "pkg:github/acme/shop") {
			t.Errorf("refused %+v", sums[0].Refused)
		}
		w.want("only its own", "acme/pay", "main", map[string]string{"django": isIgnored, "flask": "untriaged"})
		w.imports("acme/pay", "main", openVEX("2", statement("CVE-2026-2", product("pkg:oci/whatever", "pkg:pypi/flask@9"), notReached)))
		w.want("another version than the one found", "acme/pay", "main", map[string]string{"django": "reopened", "flask": "untriaged"})
		w.imports("acme/pay", "main", openVEX("3", statement("CVE-2026-2", `{"@id": "pkg:oci/whatever"}`, notReached)))
		w.want("the only product, whatever it is called", "acme/pay", "main", map[string]string{"django": "reopened", "flask": isIgnored})
	})
}
