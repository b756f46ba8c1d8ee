package sbom

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
)

// memory is a store of two projects that records the refs requested from it.
type memory struct {
	projects map[int64]model.Project
	findings []model.IndexedFinding
	lineage  model.Lineage
	rule     model.Rule
	refs     []string
	err      error
}

func newMemory() *memory {
	return &memory{projects: map[int64]model.Project{
		1: {ID: 1, Name: "acme/payments", PrimaryBranch: "refs/heads/trunk"},
		2: {ID: 2, Name: "acme/tools"},
	}}
}

func (m *memory) Deployment() model.Deployment { return model.Deployment{ID: 5, Slug: "acme"} }

func (m *memory) Project(_ context.Context, id int64) (model.Project, error) {
	p, ok := m.projects[id]
	if !ok {
		return p, fmt.Errorf("project %d: %w", id, model.ErrNotFound)
	}
	return p, nil
}

func (m *memory) VisibleProjects(_ context.Context, globs model.ProjectGlobs) (list []model.Project, _ error) {
	for _, id := range slices.Sorted(maps.Keys(m.projects)) {
		if p := m.projects[id]; globs.Allows(p.Name) {
			list = append(list, p)
		}
	}
	return list, nil
}

func (m *memory) DependencyGraph(_ context.Context, projectID int64, ref string) ([]model.Dependency, []model.DependencyEdge, error) {
	m.refs = append(m.refs, fmt.Sprintf("%d %s", projectID, ref))
	return []model.Dependency{{Ecosystem: "npm", Name: "lodash", Version: "4.17.20", Lockfile: "package-lock.json", Transitivity: model.Direct}}, nil, m.err
}

func (m *memory) InventoryCommit(context.Context, int64, string) (string, error) { return "abc", nil }

func (m *memory) SupplyChainFindings(_ context.Context, projectID int64, _ string, visit func(model.IndexedFinding, model.Rule, model.Lineage) error) error {
	for _, f := range m.findings {
		if f.ProjectID == projectID {
			if err := visit(f, m.rule, m.lineage); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *memory) export(t *testing.T, r model.SBOMRequest) (doc []byte) {
	t.Helper()
	doc, media, err := Export(t.Context(), m, r, Options{Created: time.Unix(0, 0), Tool: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if media != "application/vnd.cyclonedx+json; version=1.5" {
		t.Errorf("media type %q", media)
	}
	if err := checkJSON("cyclonedx 1.5 json", doc); err != nil {
		t.Error(err)
	}
	return doc
}

func TestExportSelectsRefs(t *testing.T) {
	tests := []struct {
		name    string
		project int64
		ref     string
		visible model.ProjectGlobs
		want    []string
	}{
		{"a project's primary branch", 1, "", nil, []string{"1 refs/heads/trunk"}},
		{"a branch", 1, "dev", nil, []string{"1 refs/heads/dev"}},
		{"a ref in full", 2, "refs/pull/1/merge", nil, []string{"2 refs/pull/1/merge"}},
		{"all projects", 0, "", nil, []string{"1 refs/heads/trunk", "2 refs/heads/main"}},
		{"what may be seen", 0, "", model.ProjectGlobs{"acme/t*"}, []string{"2 refs/heads/main"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, r := newMemory(), request("cyclonedx 1.5 json")
			r.ProjectID, r.Ref, r.Visible = tt.project, tt.ref, tt.visible
			m.export(t, r)
			if diff := cmp.Diff(tt.want, m.refs); diff != "" {
				t.Errorf("asked for (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExportErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	tests := []struct {
		name string
		edit func(*memory, *model.SBOMRequest)
		want error
	}{
		{"an unknown project", func(_ *memory, r *model.SBOMRequest) { r.ProjectID = 3 }, model.ErrNotFound},
		{"a hidden project", func(_ *memory, r *model.SBOMRequest) { r.Visible = model.ProjectGlobs{"acme/t*"} }, model.ErrNotFound},
		{"a store that fails", func(m *memory, _ *model.SBOMRequest) { m.err = broken }, broken},
	}
	for _, tt := range tests {
		m, r := newMemory(), request("cyclonedx 1.5 json")
		r.ProjectID = 1
		tt.edit(m, &r)
		if doc, _, err := Export(t.Context(), m, r, Options{}); !errors.Is(err, tt.want) || doc != nil {
			t.Errorf("%s: %v and %d bytes", tt.name, err, len(doc))
		}
	}
	m, r := newMemory(), request("cyclonedx 1.5 json")
	r.ProjectID = 1
	m.findings = []model.IndexedFinding{{Finding: model.Finding{ID: 9, ProjectID: 1, State: model.Unresolved}, Body: []byte(`"x":`)}}
	if _, _, err := Export(t.Context(), m, r, Options{}); err == nil {
		t.Error("a body that is no JSON passes in silence")
	}
}

func TestExportContainsTriageStates(t *testing.T) {
	want := map[model.TriageState]string{
		model.TriageUntriaged: "", model.TriageIgnored: "false_positive", model.TriageReviewing: "in_triage", model.TriageFixing: "exploitable", model.TriageReopened: "",
	}
	for state, analysis := range want {
		m, r := newMemory(), request("cyclonedx 1.5 json")
		r.ProjectID = 1
		m.lineage.Triage.State = state
		if state == model.TriageIgnored {
			m.lineage.Triage.Reason = model.FalsePositive
		}
		m.findings = []model.IndexedFinding{{Finding: model.Finding{ID: 9, ProjectID: 1, State: model.Unresolved, RuleName: "ssc-1"}}}
		var doc struct {
			Vulnerabilities []struct{ Analysis struct{ State string } }
		}
		if err := json.Unmarshal(m.export(t, r), &doc); err != nil {
			t.Fatal(err)
		}
		if len(doc.Vulnerabilities) != 1 || doc.Vulnerabilities[0].Analysis.State != analysis {
			t.Errorf("%s: %+v, want %q", state, doc.Vulnerabilities, analysis)
		}
	}
}

func TestVulnerabilityOf(t *testing.T) {
	message, id := "Expanded.", "CVE-2021-23337"
	body, err := model.Body{RuleMessage: &message, SCABody: &model.SCABody{
		FixRecommendations:      []model.Fix{{Package: "lodash", Version: "4.17.21"}},
		FoundDependency:         model.FoundDependency{Ecosystem: "npm", Package: "lodash", Version: "4.17.20"},
		VulnerabilityIdentifier: &id,
	}}.Members()
	if err != nil {
		t.Fatal(err)
	}
	f := model.IndexedFinding{Body: body, Finding: model.Finding{
		RuleName: "ssc-1", Severity: model.SeverityHigh, Reachability: model.ReachabilityUnknown, Transitivity: model.Direct,
		Package: "lodash", Path: "package-lock.json", Malicious: true,
	}}
	rule := model.Rule{CWE: []string{"CWE-77"}, Message: "Template.", URL: "https://example.com/rule", References: []string{"https://example.com/more"}}
	score := model.EPSS{Score: 0.3}
	lineage := model.Lineage{Annotations: model.Annotations{EPSS: &score, Reachability: model.Reachable}}
	want := Vulnerability{
		ID: id, Severity: model.SeverityHigh, Reachability: model.Reachable, Malicious: true, EPSS: &score, CWEs: []string{"CWE-77"},
		Description: "Expanded.", References: []string{"https://example.com/rule", "https://example.com/more"},
		Fixes:     []model.Fix{{Package: "lodash", Version: "4.17.21"}},
		Ecosystem: "npm", Package: "lodash", Version: "4.17.20", Transitivity: model.Direct, Lockfile: "package-lock.json",
	}
	got, err := vulnerabilityOf(f, rule, lineage)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}

	f.Body, f.Reachability = []byte(`"usage":{"location":{}}`), model.Unreachable
	got, err = vulnerabilityOf(f, rule, lineage)
	if err != nil || got.ID != "ssc-1" || got.Description != "Template." || got.Lockfile != "" || got.Package != "lodash" || got.Reachability != model.Unreachable {
		t.Errorf("what the body does not tell: %v, %+v", err, got)
	}
}

func TestSerialNumbers(t *testing.T) {
	if a, b := newSerial(), newSerial(); a == b || !serialPattern.MatchString(a) || a[23] != '4' {
		t.Errorf("serial numbers %s and %s", a, b)
	}
	r := request("cyclonedx 1.5 json")
	r.ProjectID = 1
	if a, b := newMemory().export(t, r), newMemory().export(t, r); string(a) == string(b) {
		t.Error("two exports have the same serial number")
	}
}
