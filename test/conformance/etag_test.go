package conformance

import (
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/redoubt/redoubt/api"
)

// TestStaleWrites checks that a change with an outdated ETag is a conflict and writes nothing
// (docs/reference/requests.md).
func TestStaleWrites(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		code := smallSite(t, s)
		finding := "findings/" + itoa(code[0].ID)
		for path, bodies := range map[string][3]object{
			payments:                   {{"tags": "a"}, {"tags": "b"}, {"visibility": "private"}},
			payments + "/managed-scan": {{"diff_scan": object{"enabled": true}}, {"diff_scan": object{"enabled": false}}, {"full_scan": object{"enabled": true}}},
			finding:                    {{"external_ticket": object{"externalSlug": "T-1", "url": "https://t.example/1"}}, {"external_ticket": nil}, {"assistant": object{"component": object{"tag": "x", "risk": "low"}}}},
		} {
			read := strings.TrimSuffix(path, "/managed-scan")
			change := func(body object, tag string) answer {
				return s.send(t, request{method: "PATCH", path: path, body: body, header: map[string]string{"If-Match": tag}})
			}
			tag := s.send(t, request{method: "GET", path: read}).header.Get("ETag") // compressed or not
			first := change(bodies[0], tag)
			next := tagIn(first)
			if first.status != 200 || tag == "" || next == "" || strings.HasPrefix(tag, strings.TrimSuffix(next, `"`)) {
				t.Fatalf("%s with the tag %s: %d, the tag is then %s: %s", path, tag, first.status, next, first.body)
			}
			refused(t, change(bodies[1], tag), 409, api.CodeConflict)
			now := s.send(t, request{method: "GET", path: read})
			if tagIn(now) != next || string(now.body) != string(first.body) {
				t.Errorf("%s: a conflict changed something: %s, then %s", path, first.body, now.body)
			}
			for _, good := range []string{next, "*", `"other", ` + next, "W/" + next, strings.TrimSuffix(next, `"`) + `-z-zstd"`} {
				if a := change(bodies[0], good); a.status != 200 || tagIn(a) != next {
					t.Errorf("%s with If-Match %s: %d, tag %s: %s", path, good, a.status, tagIn(a), a.body)
				}
			}
			for _, bad := range []string{"x", `"open`, next + " " + next, "*, " + next} {
				invalid(t, change(bodies[0], bad), "header.If-Match")
			}
			if a := change(bodies[2], next); a.status != 200 || tagIn(a) == next {
				t.Errorf("%s, another member: %d %s", path, a.status, a.body)
			}
		}
	})
}

// tagIn returns the ETag of a response without the suffix of compressed responses.
func tagIn(a answer) string {
	return regexp.MustCompile(`-z-(gzip|zstd)"$`).ReplaceAllString(a.header.Get("ETag"), `"`)
}

// TestScansDoNotConflictWithEdits checks that a scan between reading and changing causes no conflict.
func TestScansDoNotConflictWithEdits(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		code := smallSite(t, s)
		w := &world{site: s, rules: map[string]scanRule{}}
		for path, body := range map[string]object{payments: {"tags": "a"}, "findings/" + itoa(code[0].ID): {"assistant": object{"component": object{"tag": "x", "risk": "low"}}}} {
			tag := s.send(t, request{method: "GET", path: path}).header.Get("ETag")
			s.clock.Advance(1e9)
			s.upload(t, "acme/payments", "other", "full", semgrepReport(w.matches(7, 0, 3)...))
			a := s.send(t, request{method: "PATCH", path: path, body: body, header: map[string]string{"If-Match": tag}})
			if a.status != 200 {
				t.Errorf("%s after a scan: %s", path, a.body)
			}
		}
	})
}

// TestOneConcurrentRequestWins checks that one of many concurrent changes to the same state succeeds, and the
// others get a conflict.
func TestOneConcurrentRequestWins(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		smallSite(t, s)
		other := s.another(t)
		tag := s.send(t, request{method: "GET", path: payments}).header.Get("ETag")
		answers := make([]answer, 10)
		var busy sync.WaitGroup
		for i := range answers {
			busy.Go(func() {
				r := request{method: "PATCH", path: payments, body: object{"tags": "t" + itoa(int64(i))}, header: map[string]string{"If-Match": tag}}
				answers[i] = []*site{s, other}[i%2].send(t, r)
			})
		}
		busy.Wait()
		won := filterSlice(answers, func(a answer) bool { return a.status == 200 })
		lost := filterSlice(answers, func(a answer) bool { return a.status == 409 })
		if len(won) != 1 || len(lost) != len(answers)-1 {
			t.Fatalf("%d succeeded and %d failed", len(won), len(lost))
		}
		if now := s.send(t, request{method: "GET", path: payments}); now.header.Get("ETag") != won[0].header.Get("ETag") {
			t.Errorf("%s succeeded, but %s is stored", won[0].body, now.body)
		}
	})
}
