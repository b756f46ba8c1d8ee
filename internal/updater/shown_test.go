package updater

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/advisorytest"
)

// TestFeedPasswordIsHidden checks that the password in a feed's address is shown nowhere. It
// covers a successful load and an unreachable server.
func TestFeedPasswordIsHidden(t *testing.T) {
	h := httptest.NewServer(&advisorytest.Publisher{Tag: `"one"`, Files: map[string][]byte{"/npm/all.zip": advisorytest.Archive(t, map[string]string{"A-1": advisorytest.OSVRecord("A-1", "a", "1.0.0")})}})
	defer h.Close()
	c := advisoriesUpdateCmd{Archives: strings.Replace(h.URL, "://", "://reader:opensesame@", 1), Ecosystems: []string{"npm"}}
	c.Data = t.TempDir()
	out, err := c.output(t)
	if err != nil || !strings.Contains(out, h.URL+"/npm/all.zip: 1 records") {
		t.Fatalf("%q %v", out, err)
	}
	h.Close()
	gone, err := c.output(t)
	if err == nil || !strings.Contains(err.Error(), h.URL+"/npm/all.zip") {
		t.Errorf("a publisher that is gone: %q %v", gone, err)
	}
	st, openErr := store.Open(t.Context(), store.Config{Dir: c.Data, Clock: time.Now})
	if openErr != nil {
		t.Fatal(openErr)
	}
	defer st.Close()
	registry := prometheus.NewRegistry()
	registry.MustRegister(Collector{st, time.Now})
	metrics := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(metrics, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if !strings.Contains(metrics.Body.String(), `source="`+h.URL+`/npm/all.zip"`) {
		t.Errorf("the metrics do not name the feed:\n%s", metrics.Body)
	}
	sources, readErr := st.AdvisorySources(t.Context())
	if readErr != nil || len(sources) != 1 || sources[0].Error == "" {
		t.Fatal(sources, readErr)
	}
	for where, text := range map[string]string{"output": out + gone, "error": fmt.Sprint(err), "metrics": metrics.Body.String(), "last error": sources[0].Error} {
		if strings.Contains(text, "opensesame") || strings.Contains(text, "reader") {
			t.Errorf("the %s tells what opens the feed: %s", where, text)
		}
	}
}

// TestFeedURLQueryDistinguishesFeedsAndIsHidden checks that a feed that differs from another only in its
// query does not count as unchanged. The error of a redirect to a signed address must not show the
// signature.
func TestFeedURLQueryDistinguishesFeedsAndIsHidden(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved.json" {
			http.Redirect(w, r, strings.Replace(gone.URL, "://", "://other:hidden@", 1)+"/there.json?sig=s1gned", http.StatusFound)
			return
		}
		w.Header().Set("ETag", `"same"`)
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, advisorytest.OSVRecord(r.URL.Query().Get("id"), "a", "1.0.0"))
	}))
	defer h.Close()
	c := advisoriesUpdateCmd{From: []string{h.URL + "/record.json?id=A-1", h.URL + "/record.json?id=A-2"}}
	c.Data = t.TempDir()
	if out, err := c.output(t); err != nil || strings.Count(out, "1 records, 1 new") != 2 {
		t.Errorf("%s %v", out, err)
	}
	c.From = []string{h.URL + "/moved.json", "HTTP://reader:opensesame@" + strings.TrimPrefix(gone.URL, "http://") + "/x", "ftp://reader:opensesame@osv.example/x?sig=s1gned"}
	out, err := c.output(t)
	for _, secret := range []string{"hidden", "s1gned", "opensesame"} {
		if err == nil || strings.Contains(out+err.Error(), secret) {
			t.Errorf("%s is shown: %s %v", secret, out, err)
		}
	}
}

// TestInvalidFeedURLHidesPassword checks addresses with unescaped characters or surrounding
// spaces, and redirects to such addresses.
func TestInvalidFeedURLHidesPassword(t *testing.T) {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved.json":
			w.Header().Set("Location", "http://other:hid den\"hidden@osv.example/x?sig=s1gned")
			w.WriteHeader(http.StatusFound)
		case "/loop.json":
			w.Header().Set("Location", "/loop.json?sig=s1gned")
			w.WriteHeader(http.StatusFound)
		default:
			fmt.Fprint(w, advisorytest.OSVRecord("A-1", "a", "1.0.0"))
		}
	}))
	defer h.Close()
	secrets := []string{"open", "sesame", "hid", "den", "s1gned"}
	for _, address := range []string{
		"http://reader:open#sesame@osv.example/x", "http://reader:open/sesame@osv.example/x", "http://reader:open?sesame@osv.example/x",
		"http://reader:open sesame@osv.example/x", "http://reader:open\"sesame@osv.example/x", "http://reader:%zzsesame@osv.example/x",
		h.URL + "/moved.json", h.URL + "/loop.json",
	} {
		c := advisoriesUpdateCmd{From: []string{address}}
		c.Data = t.TempDir()
		out, err := c.output(t)
		file, _ := os.ReadFile(filepath.Join(c.Data, store.FileName))
		for _, secret := range secrets {
			if err == nil || strings.Contains(strings.ReplaceAll(out+err.Error(), c.Data, ""), secret) {
				t.Errorf("%s shows %s: %s %v", address, secret, out, err)
			}
		}
		if bytes.Contains(file, []byte("sesame")) || bytes.Contains(file, []byte("s1gned")) {
			t.Errorf("the database stores a part of %s", address)
		}
	}
	c := advisoriesUpdateCmd{From: []string{" " + strings.Replace(h.URL, "://", "://reader:opensesame@", 1) + "/record.json\n"}}
	c.Data = t.TempDir()
	if out, err := c.output(t); err != nil || strings.Contains(out, "sesame") {
		t.Errorf("%s %v", out, err)
	}
}
