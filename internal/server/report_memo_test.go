package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/auth"
)

// TestImportsKnowTheLastReport: who may hand in a full report of a project has it read by
// the memo of the last one, and nobody else.
func TestImportsKnowTheLastReport(t *testing.T) {
	h := newHarness(t)
	send := func(query, body, media string, want ...string) {
		t.Helper()
		a := h.send(http.MethodPost, imports+query, body, "Content-Type", media)
		for _, text := range want {
			if a.status != http.StatusOK || !contains(a.body, text) {
				t.Errorf("%s has no %s: %d %s", query, text, a.status, a.body)
			}
		}
	}
	file := semgrepReport(map[string][]int{"a.py": {1, 2}, "b.py": {3}})
	more := semgrepReport(map[string][]int{"a.py": {1, 2}, "b.py": {3, 4}})
	send("?project=acme/a&ref=main&commit=1", file, "application/json", `"new":3`)
	send("?project=acme/a&ref=main&commit=2", file, "application/json", `"unchanged":3`)
	send("?project=acme/a&ref=main&commit=3", more, "application/json", `"unchanged":3`, `"new":1`)
	for i, files := range [][]string{
		{"@one.json", file},
		{"@one.json", file, "@two.json", more},
		{"@one.json", more, "@package-lock.json", `{"name":"a","lockfileVersion":3,"packages":{}}`},
	} {
		body, media := form(t, append([]string{"project", "acme/a", "ref", "main", "commit", strings.Repeat("4", i+1)}, files...)...)
		send("", body, media, `"refused_count":0`)
	}
	send("?project=acme/a&ref=main&commit=5", more, "application/json", `"unchanged":4`)

	memo := func(in api.ImportQuery, globs ...string) *redoubt.ReportMemo {
		t.Helper()
		c := &call{server: h.server, caller: auth.Caller{Deployment: h.deployment, Token: redoubt.Token{ProjectGlobs: globs}}}
		files := &importFiles{call: c, in: &in, may: h.server.intake.Reserve().May}
		if err := files.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		if files.o.Remember == in.Diff {
			t.Error("what is remembered are full reports")
		}
		return files.o.Memo
	}
	for name, c := range map[string]struct {
		in    api.ImportQuery
		globs []string
		known bool
	}{
		"a full report":    {in: api.ImportQuery{Project: "acme/a", Ref: "main"}, known: true},
		"of its own token": {in: api.ImportQuery{Project: "acme/a", Ref: "main"}, globs: []string{"acme/*"}, known: true},
		"another's token":  {in: api.ImportQuery{Project: "acme/a", Ref: "main"}, globs: []string{"other/*"}},
		"a diff":           {in: api.ImportQuery{Project: "acme/a", Ref: "main", Diff: true}},
		"all lockfiles":    {in: api.ImportQuery{Project: "acme/a", Ref: "main", Whole: true}},
		"another category": {in: api.ImportQuery{Project: "acme/a", Ref: "main", Category: "x"}},
		"another ref":      {in: api.ImportQuery{Project: "acme/a", Ref: "dev"}},
		"no project":       {in: api.ImportQuery{Ref: "main"}},
	} {
		if got := memo(c.in, c.globs...); (got != nil) != c.known {
			t.Errorf("%s: a memo is read: %t, want %t", name, got != nil, c.known)
		}
	}
}

// TestMemosTakeTheRoomOfUploads: what an upload of a few bytes has read of the last report
// counts as its own, and is left out where there is no room for it.
func TestMemosTakeTheRoomOfUploads(t *testing.T) {
	h := newHarness(t)
	lines := make([]int, 2000)
	for i := range lines {
		lines[i] = i + 1
	}
	file := semgrepReport(map[string][]int{"a.py": lines})
	if a := h.send(http.MethodPost, imports+"?project=acme/a&ref=main", file, "Content-Type", "application/json"); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	c := &call{server: h.server, caller: auth.Caller{Deployment: h.deployment}}
	begin := func(may func(int) bool) *redoubt.ReportMemo {
		files := &importFiles{call: c, in: &api.ImportQuery{Project: "acme/a", Ref: "main"}, may: may}
		if err := files.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		return files.o.Memo
	}
	room := h.server.intake.Reserve()
	m := begin(room.May)
	if least := len(file) + 2000*200; m == nil || len(m.Results) != 2000 || h.server.intake.InUse() < int64(least) {
		t.Errorf("a memo of 2,000 results takes %d bytes, want %d at least", h.server.intake.InUse(), least)
	}
	room.Release()
	others := h.server.intake.Reserve()
	defer others.Release()
	if err := others.Build(int(h.server.intake.All) - len(file)); err != nil {
		t.Fatal(err)
	}
	before := h.server.intake.InUse()
	if m := begin(h.server.intake.Reserve().May); m != nil || h.server.intake.InUse() != before {
		t.Errorf("without room there is a memo: %t, and %d bytes more are in use", m != nil, h.server.intake.InUse()-before)
	}
}
