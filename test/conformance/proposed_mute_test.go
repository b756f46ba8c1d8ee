package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// suppressed returns a report that mutes a call in each file, but not by a comment in the code.
func suppressed(paths ...string) []byte {
	var results []string
	for _, path := range paths {
		results = append(results, fmt.Sprintf(`{"ruleId": "B1", "message": {"text": "one"}, "suppressions": [{"kind": "external", "status": "accepted"}],
			"locations": [{"physicalLocation": {"artifactLocation": {"uri": %q}, "region": {"startLine": 1, "snippet": {"text": "one()"}}}}]}`, path))
	}
	return []byte(`{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "Bandit"}}, "results": [` + strings.Join(results, ",") + `]}]}`)
}

// TestAppliedMutesPersist repeats mutes with an upload-only token after a user applied
// them. They must remain for moved files and on new branches, where the gate passes. Other findings
// and copies stay open.
func TestAppliedMutesPersist(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		triager := s.token
		ci := s.newToken(t, model.Token{Name: "uploads", Scopes: []model.Scope{model.ScopeCI}})
		var blocked []string // in the last report
		send := func(token, ref string, paths ...string) api.Import {
			t.Helper()
			s.token = token
			out := read[api.ImportResponse](t, s.importing(t, "project=acme/mutes&full=true&filename=c.sarif&ref="+ref, suppressed(paths...)))
			s.token = triager
			blocked = nil
			for _, b := range out.Gate.Blocking {
				blocked = append(blocked, b.Path)
			}
			return out.Imports[0]
		}
		shown := func(ref string) map[string]string {
			out := map[string]string{}
			for _, f := range read[api.ListFindingsResponse](t, s.send(t, request{method: "GET", path: "findings?issue_type=sast&status=open&status=ignored&ref=" + ref})).SASTFindings.Findings {
				out[f.Location.FilePath] = f.Status
			}
			return out
		}
		expect := func(when, ref string, want map[string]string) {
			t.Helper()
			if diff := cmp.Diff(want, shown(ref)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", when, ref, diff)
			}
		}
		count := func(when string, got api.Import, open, proposed int, blocks ...string) {
			t.Helper()
			if !slices.Equal(blocked, blocks) {
				t.Errorf("%s: %v block, want %v", when, blocked, blocks)
			}
			if int(got.Counts.Code) != open || got.ProposedMutes != proposed || (got.Note != "") != (proposed > 0) {
				t.Errorf("%s: %d are open, %d proposed, %q; want %d, %d", when, got.Counts.Code, got.ProposedMutes, got.Note, open, proposed)
			}
		}
		send(triager, "main", "a/app/app.py", "z.py")
		s.blockImported(t, "B1")
		count("again", send(ci, "main", "a/app/app.py", "z.py"), 0, 0)
		expect("people muted", "main", map[string]string{"a/app/app.py": "ignored", "z.py": "ignored"})
		count("on a new branch", send(ci, "dev", "a/app/app.py", "z.py"), 0, 0)
		expect("on a new branch", "dev", map[string]string{"a/app/app.py": "ignored", "z.py": "ignored"})
		count("moved", send(ci, "dev", "b/app/app.py", "z.py"), 0, 0)
		expect("moved", "dev", map[string]string{"b/app/app.py": "ignored", "z.py": "ignored"})
		for _, step := range []string{"copied", "copied, again"} {
			count(step, send(ci, "dev", "a/app/app.py", "b/app/app.py", "z.py"), 1, 1, "b/app/app.py")
			expect(step, "dev", map[string]string{"a/app/app.py": "ignored", "b/app/app.py": "open", "z.py": "ignored"})
		}
		count("moved on main", send(ci, "main", "c/app/app.py", "z.py"), 0, 0)
		expect("moved on main", "main", map[string]string{"c/app/app.py": "ignored", "z.py": "ignored"})
		count("new", send(ci, "main", "c/app/app.py", "new.py", "z.py"), 1, 1, "new.py")
		expect("new", "main", map[string]string{"c/app/app.py": "ignored", "new.py": "open", "z.py": "ignored"})
		count("new elsewhere", send(ci, "topic", "c/app/app.py", "new.py"), 1, 1)
		expect("new elsewhere", "topic", map[string]string{"c/app/app.py": "ignored", "new.py": "open"})
		send(triager, "main", "c/app/app.py", "new.py", "z.py")
		count("muted since", send(ci, "topic", "c/app/app.py", "new.py", "y.py"), 1, 1, "y.py")
		expect("muted since", "topic", map[string]string{"c/app/app.py": "ignored", "new.py": "ignored", "y.py": "open"})
	})
}
