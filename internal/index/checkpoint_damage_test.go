package index

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/index/checkpoint"
	"github.com/redoubt/redoubt/internal/model"
)

// FuzzCheckpoint checks checkpoints with valid checksums and arbitrary content. They are either
// rejected or result in an index that can be queried.
func FuzzCheckpoint(f *testing.F) {
	c := newCheckpointed(f)
	c.save()
	original := c.bytes()
	r, err := checkpoint.Open(bytes.NewReader(original), int64(len(original)))
	if err != nil {
		f.Fatal(err)
	}
	for i := range r.Sections {
		f.Add(i, 0, []byte{255})
		f.Add(i, 9, []byte{0, 0, 0, 1, 0, 0, 0, 2})
	}
	f.Fuzz(func(t *testing.T, section, offset int, patch []byte) {
		target := r.Sections[max(section, -section-1)%len(r.Sections)].Name
		b := rewrite(t, r, func(*checkpoint.Heading) {}, func(name string, b []byte) []byte {
			if name == target && len(b) > 0 {
				copy(b[max(offset, -offset-1)%len(b):], patch)
			}
			return b
		})
		s, err := read(b)
		if err != nil {
			return
		}
		answer(t, s)
	})
}

// answer runs the queries of all pages on a state.
func answer(t *testing.T, s *state) {
	x := New(newWorld(), Options{})
	d := x.deployment(tenant)
	d.state = s
	v := &View{d: d}
	for _, issueType := range []model.IssueType{model.SAST, model.SCA, model.Secrets} {
		f := model.FindingFilter{IssueType: issueType}
		v.Count(f)
		v.Count(model.FindingFilter{IssueType: issueType, Dedup: true, Search: "a", Modes: []model.PolicyMode{model.ModeBlock}})
		page := &Page{}
		v.read(issueType, func(s *state, p *partition) { page.copy(s, p, p.selection(s.query(p, &f), 0, 100)) })
		for i := range page.items {
			page.items[i].body = []byte(smallBody)
		}
		if _, err := page.WriteTo(&bytes.Buffer{}); err != nil {
			t.Error(err)
		}
	}
	if err := s.apply(&encoded{Batch: &model.Batch{DeletedFindings: []int64{1, 2}, DeletedProjects: []int64{1}}}); err != nil {
		t.Error(err)
	}
}

// TestCheckpointIsConsistentSnapshot checks that changes during the write of a checkpoint are not
// included in it.
func TestCheckpointIsConsistentSnapshot(t *testing.T) {
	src := &bulk{n: 3*frozenChunk + 100, version: 1}
	x := New(src, Options{})
	v, err := x.Deployment(t.Context(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	d := v.d
	before := rowsOf(d.state)
	n, err := d.snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	to := &meddling{meddle: func() {
		src.version++
		src.extra = []*model.Batch{{Lineages: []model.Lineage{
			{ID: 1, Triage: model.Triage{State: model.TriageFixing}},
			{ID: 5000, Triage: model.Triage{State: model.TriageFixing}},
			{ID: 12_200, Triage: model.Triage{State: model.TriageFixing, Assignee: "new assignee"}},
		}, DeletedFindings: []int64{2, 6000}, DeletedProjects: []int64{3}}}
		if _, err := x.Deployment(t.Context(), tenant); err != nil {
			t.Error(err)
		}
	}}
	if err := n.write(t.Context(), to, "id", new(sync.RWMutex)); err != nil {
		t.Fatal(err)
	}
	d.thaw(n)
	if to.meddle != nil {
		t.Fatal("nothing changed meanwhile")
	}
	s, err := read(to.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if after := rowsOf(s); after != before {
		t.Error("the checkpoint has rows of another moment")
	}
	if d.state.parts[0].frozen != nil {
		t.Error("rows are still copied before they change")
	}
}

// rowsOf returns the stored values of all rows as text.
func rowsOf(s *state) string {
	var b strings.Builder
	for _, p := range s.parts {
		for i, r := range p.rows {
			r.body = bodyRef{}
			fmt.Fprintln(&b, i, r, p.listed.Contains(uint32(i)))
		}
	}
	return b.String()
}

// meddling is a buffer that calls a function after the first rows are written.
type meddling struct {
	bytes.Buffer

	meddle func()
}

func (m *meddling) Write(b []byte) (int, error) {
	if m.meddle != nil && len(b) == len(checkpoint.Raw(make([]row, frozenChunk))) {
		m.meddle()
		m.meddle = nil
	}
	return m.Buffer.Write(b)
}

func TestCheckpointAbortsAfterTooManyChanges(t *testing.T) {
	p := &partition{rows: make([]row, (maxCopies+2)*frozenChunk)}
	z := p.freeze()
	for ordinal := frozenChunk; ordinal < len(p.rows); ordinal += frozenChunk {
		p.preserve(uint32(ordinal))
	}
	if !z.spoiled || z.copies != nil {
		t.Errorf("%d chunks are kept", len(z.copies))
	}
	if chunk := z.nextChunk(p, nil); chunk != nil {
		t.Error("rows of it are still written")
	}
}

// checkpointSum is the checksum of the checkpoint of a fixed feed in the current format. Programs
// with another sum must use another format number.
const checkpointSum = "format 9: 287f269046cc07b10c0cb691ff22e57f8e4f27e5db82d9205330888da22e0ade"

// TestCheckpointFormatNumber checks that the content of a checkpoint does not change
// without a new format number.
func TestCheckpointFormatNumber(t *testing.T) {
	w := newWorld()
	seed(w)
	add(w, smallBody, span(1, 5)...)
	w.putRule(model.Rule{ID: 2, Name: "Open.Rule", IssueType: model.Secrets, Category: "security"})
	w.putProject(model.Project{ID: 2, Name: "Acme/Web", Tags: []string{"Tier-1"}, OldNames: []string{"acme/Site"}, PrimaryBranch: "refs/heads/dev"})
	l := w.lineages[2]
	l.Triage = model.Triage{State: model.TriageIgnored, Reason: 1, At: w.now(), Comment: "known", Assignee: "ann@example.com", Until: w.now().AddDate(0, 1, 0)}
	l.Annotations = model.Annotations{EPSS: &model.EPSS{Score: 0.7, Percentile: 0.9}, Exploited: true}
	w.putLineage(l)
	for id, f := range map[int64]model.Finding{
		6: {IssueType: model.SCA, ProjectID: 2, Ref: "refs/heads/dev", RuleID: 1, Package: "left-pad", Path: "Web/package-lock.json", Transitivity: 2, LineageID: 2},
		7: {IssueType: model.Secrets, ProjectID: 2, Ref: "refs/heads/main", RuleID: 2, SecretType: "AWS", Historical: true, ValidationState: 2, LineageID: 3},
	} {
		f.ID, f.State, f.Severity, f.Confidence, f.CreatedAt, f.RelevantSince = id, model.Unresolved, 2, 1, w.now(), w.now().Add(time.Hour)
		w.putFinding(model.IndexedFinding{Finding: f, Body: []byte(`"rule_message":"Found IT","vulnerability_identifier":"CVE-1"`)})
	}
	w.commit()
	x := New(w, Options{})
	s := view(t, x).d.state
	n, err := s.snapshot(tenant)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := n.write(t.Context(), &out, "id", new(sync.RWMutex)); err != nil {
		t.Fatal(err)
	}
	r, err := checkpoint.Open(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	fmt.Fprint(sum, rowsOf(s))
	for _, section := range r.Sections {
		if !strings.HasPrefix(section.Name, "rows/") { // the padding of rows is undefined
			fmt.Fprintln(sum, section.Name, section.Sum)
		}
	}
	if got := fmt.Sprintf("format %d: %s", checkpointFormat, hex.EncodeToString(sum.Sum(nil))); got != checkpointSum {
		t.Errorf("an index makes something else of the same feed, or writes it otherwise: raise checkpointFormat, and set checkpointSum to %q", got)
	}
}
