package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// imitation answers as DefectDojo does where this program speaks to it.
type imitation struct {
	deduplicates, works bool
	waiting             []int // lengths of its queue, one a look
	reports             []string
	decided             []string
}

func (i *imitation) handler(t *testing.T) http.Handler {
	mux := http.NewServeMux()
	answer := func(pattern string, of func(r *http.Request) any) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if got := r.Header.Get("Authorization"); got != "Token secret" && r.URL.Path != "/api/v2/api-token-auth/" {
				t.Errorf("%s: Authorization %q", r.URL.Path, got)
			}
			w.Header().Set("Content-Type", "application/json")
			if err := json.NewEncoder(w).Encode(of(r)); err != nil {
				t.Error(err)
			}
		})
	}
	taken := func(r *http.Request) any {
		i.reports = append(i.reports, fmt.Sprint(r.URL.Path, " ", r.FormValue("product_name"), r.FormValue("test"), " ", r.FormValue("commit_hash"), " ", r.FormValue("close_old_findings")))
		return map[string]int{"test": 7}
	}
	answer("POST /api/v2/api-token-auth/", func(*http.Request) any { return map[string]string{"token": "secret"} })
	answer("GET /api/v2/system_settings/", func(*http.Request) any {
		return map[string]any{"results": []any{map[string]bool{"enable_deduplication": i.deduplicates}}}
	})
	answer("GET /api/v2/celery/status/", func(*http.Request) any {
		length := 0
		if len(i.waiting) > 0 {
			length, i.waiting = i.waiting[0], i.waiting[1:]
		}
		return map[string]any{"worker_status": i.works, "queue_length": length}
	})
	answer("POST /api/v2/import-scan/", taken)
	answer("POST /api/v2/reimport-scan/", taken)
	answer("GET /api/v2/findings/", func(r *http.Request) any {
		q := r.URL.Query()
		if q.Get("test") != "7" {
			t.Errorf("findings of the test %q", q.Get("test"))
		}
		for n, filter := range []string{"false_p", "is_mitigated", "active"} {
			if q.Get(filter) == "true" {
				return map[string]any{"count": n + 1, "results": []any{map[string]int{"id": 40 + n}}}
			}
		}
		return nil
	})
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "csrftoken", Value: "fresh", Path: "/"})
	})
	form := func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("csrfmiddlewaretoken") != "fresh" || r.FormValue("password") == "wrong" {
			return // shows the form again
		}
		i.decided = append(i.decided, r.Form["finding_to_update"]...)
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}
	mux.HandleFunc("POST /login", form)
	mux.HandleFunc("POST /finding/bulk", form)
	return mux
}

func (i *imitation) start(t *testing.T) string {
	s := httptest.NewServer(i.handler(t))
	t.Cleanup(s.Close)
	return s.URL
}

func TestDefectDojoIsAskedAsItsAPISays(t *testing.T) {
	i := &imitation{deduplicates: true, works: true}
	ctx := t.Context()
	d, err := signIn(ctx, i.start(t)+"/", "admin", "right")
	if err != nil {
		t.Fatal(err)
	}
	for _, commit := range []string{"1", "2"} {
		if err := d.take(ctx, "peer/a", commit, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"/api/v2/import-scan/ peer/a 1 true", "/api/v2/reimport-scan/ 7 2 true"}, i.reports); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
	got, err := d.counts(ctx, "peer/a")
	if want := (counts{open: 3, fixed: 2, decided: 1}); err != nil || got != want {
		t.Errorf("counts %+v, %v", got, err)
	}
	ids, err := d.open(ctx, "peer/a", 1)
	if err != nil || d.decide(ctx, ids) != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"42"}, i.decided); diff != "" {
		t.Errorf("decided (-want +got):\n%s", diff)
	}
}

func TestDefectDojoThatDoesLessIsRefused(t *testing.T) {
	for _, c := range []struct {
		of       imitation
		password string
		want     string
	}{
		{imitation{works: true}, "right", "deduplicate"},
		{imitation{deduplicates: true}, "right", "Celery worker"},
		{imitation{deduplicates: true, works: true}, "wrong", "POST /login"},
	} {
		if _, err := signIn(t.Context(), c.of.start(t), "admin", c.password); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v", c.want, err)
		}
	}
}

func TestSettlingWaitsForAQueueThatStaysEmpty(t *testing.T) {
	i := &imitation{deduplicates: true, works: true}
	d, err := signIn(t.Context(), i.start(t), "admin", "right")
	if err != nil {
		t.Fatal(err)
	}
	i.waiting = []int{3, 0, 1}
	d.pause = time.Millisecond
	if err := d.settle(t.Context()); err != nil || len(i.waiting) > 0 {
		t.Errorf("settled with %v waiting: %v", i.waiting, err)
	}
}
