package index

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

// TestArenasShareABudget checks that arenas with a shared budget return either the stored body or
// nothing. Their total size stays within the budget.
func TestArenasShareABudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &budget{limit: int64(rapid.IntRange(0, 200_000).Draw(t, "limit"))}
		arenas := []*arena{{budget: b}, {budget: b}}
		type stored struct {
			in   *arena
			ref  bodyRef
			body []byte
		}
		var all []stored
		for i, size := range rapid.SliceOfN(rapid.IntRange(0, 60_000), 1, 20).Draw(t, "sizes") {
			s := stored{in: arenas[i%2], body: bytes.Repeat([]byte{byte(i + 1)}, size)}
			s.ref = s.in.put(s.body)
			all = append(all, s)
			if got := s.in.get(s.ref); size > 0 && int64(size) <= b.limit && !bytes.Equal(got, s.body) {
				t.Errorf("a body of %d bytes that fits into %d is not there", size, b.limit)
			}
			for _, s := range all {
				if got := s.in.get(s.ref); got != nil && !bytes.Equal(got, s.body) {
					t.Errorf("a body of %d bytes reads as another one of %d", len(s.body), len(got))
				}
			}
			if used := b.inUse(); used > b.limit {
				t.Errorf("%d bytes are in use, limit %d", used, b.limit)
			}
		}
		b.release(arenas[0].chunks)
		b.release(arenas[1].chunks)
		b.release(arenas[1].chunks)
		if used := b.inUse(); used != 0 {
			t.Errorf("%d bytes are in use after all were released", used)
		}
	})
}

func TestReplacedBodiesAreFreed(t *testing.T) {
	w := newWorld()
	w.batch = 100
	seed(w)
	add(w, smallBody, span(1, 100)...)
	x := New(w, Options{BodyCache: 1 << 30})
	view(t, x)
	for i := range 10 {
		for _, f := range w.findings {
			f.Body = []byte(`"rule_message":"` + strings.Repeat(string(rune('a'+i)), 10_000) + `"`)
			w.putFinding(f)
		}
		w.commit()
		view(t, x)
	}
	if n := x.Stats().BodyBytes; n > 5<<20 {
		t.Errorf("%d bytes are kept for one megabyte of bodies", n)
	}
	if text := written(t, view(t, x), model.FindingFilter{IssueType: model.SAST}, 0, 100); bytes.Count(text, []byte("jjj")) == 0 || bytes.Contains(text, []byte("iii")) {
		t.Error("the newest bodies are not the ones that are written")
	}
	if w.bodyReads != 0 {
		t.Errorf("%d bodies were read from the store", w.bodyReads)
	}
}

// TestSinceIsInclusive checks that Since is inclusive and exact to the microsecond.
func TestSinceIsInclusive(t *testing.T) {
	w := newWorld()
	seed(w)
	add(w, smallBody, 1)
	at := w.findings[1].RelevantSince
	v := view(t, New(w, Options{}))
	for _, c := range []struct {
		since time.Time
		want  int
	}{{time.Time{}, 1}, {at.Add(-1), 1}, {at, 1}, {at.In(time.FixedZone("", 7200)), 1}, {at.Add(1), 0}, {at.Add(time.Hour), 0}, {time.Unix(-1, 0), 1}} {
		if n := v.Count(model.FindingFilter{IssueType: model.SAST, Since: c.since}); n != c.want {
			t.Errorf("since %v: %d findings, want %d", c.since, n, c.want)
		}
	}
}
