package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/ci"
	"github.com/redoubt/redoubt/internal/testutil/programtest"
)

// uvLock returns a lockfile that the scanner's open engine cannot read.
func uvLock(version string) string {
	return "version = 1\nrequires-python = \">=3.12\"\n\n[[package]]\nname = \"urllib3\"\nversion = \"" + version + "\"\nsource = { registry = \"https://pypi.org/simple\" }\n"
}

// newsRecord returns an advisory in the format of OSV.
func newsRecord(id, ecosystem, name, fixed, more string) string {
	return fmt.Sprintf(`{"id":%q,"modified":"2026-01-01T00:00:00Z","summary":"bad","database_specific":{"severity":"HIGH"}%s,
		"affected":[{"package":{"ecosystem":%q,"name":%q},"ranges":[{"type":"ECOSYSTEM","events":[{"introduced":"0"},{"fixed":%q}]}]}]}`, id, more, ecosystem, name, fixed)
}

// advise loads advisories from local files.
func (w *ciWorld) advise(records ...string) {
	w.Helper()
	dir := w.TempDir()
	for i, text := range records {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.json", i)), []byte(text), 0o600); err != nil {
			w.Fatal(err)
		}
	}
	w.redoubt("advisories", "update", "--from", dir)
}

// advised returns the findings of advisories on main, by vulnerability.
func (w *ciWorld) advised() map[string]api.SupplyChainFinding {
	w.Helper()
	out := map[string]api.SupplyChainFinding{}
	for f, err := range w.client().SupplyChainFindings(w.Context(), "acme", api.FindingsQuery{Ref: "main", Status: []string{"open", "fixed", "ignored"}}) {
		if err != nil {
			w.Fatal(err)
		}
		if f.VulnerabilityIdentifier != nil && strings.HasPrefix(*f.VulnerabilityIdentifier, "GHSA-") {
			out[*f.VulnerabilityIdentifier] = f
		}
	}
	return out
}

// advisedLines formats the findings of advisories, one per line.
func (w *ciWorld) advisedLines() (list []string) {
	w.Helper()
	for id, f := range w.advised() {
		list = append(list, fmt.Sprintf("%s %s %s %s %s", id, f.Status, f.Location.FilePath, f.FoundDependency.Package, f.FoundDependency.Version))
	}
	slices.Sort(list)
	return list
}

// TestSupplyChainUpdatesAfterAdvisoryChanges follows one repository through all changes of its dependencies and
// advisories, with the unmodified scanner and redoubt ci.
func TestSupplyChainUpdatesAfterAdvisoryChanges(t *testing.T) {
	onEngines(t, followNews)
}

func followNews(w *ciWorld) {
	is := func(when string, want ...string) {
		w.Helper()
		diff := cmp.Diff(want, w.advisedLines())
		for end := time.Now().Add(programtest.WaitAtMost); diff != "" && time.Now().Before(end); diff = cmp.Diff(want, w.advisedLines()) {
			time.Sleep(20 * time.Millisecond) // the server may still be matching
		}
		if diff != "" {
			w.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	w.write("api/uv.lock", uvLock("1.24.1"))
	w.commit("two lockfiles that the open engine cannot read")
	w.advise(newsRecord("GHSA-lodash", "npm", "lodash", "4.17.21", ""))
	out, output := w.build(0, "main", nil)
	for _, want := range []string{"api/uv.lock urllib3", "web/package-lock.json lodash"} {
		if !slices.Contains(w.dependencies(), want) {
			w.Errorf("%s is not listed:\n%s", want, output)
		}
	}
	is("after the build", "GHSA-lodash open web/package-lock.json lodash 4.17.20")
	if !slices.ContainsFunc(out.New, func(f ci.Finding) bool { return f.Path == "web/package-lock.json" && f.Source == "advisories" }) {
		w.Errorf("the build does not report it: %+v", out.New)
	}

	scans := w.newestScan().ID
	w.advise(newsRecord("GHSA-urllib", "PyPI", "urllib3", "1.26.5", ""))
	is("after the news", "GHSA-lodash open web/package-lock.json lodash 4.17.20", "GHSA-urllib open api/uv.lock urllib3 1.24.1")
	if w.newestScan().ID != scans {
		w.Error("it accepted a scan")
	}
	first := w.advised()["GHSA-urllib"]

	w.write("api/uv.lock", uvLock("1.25.0"))
	w.commit("another vulnerable version")
	w.build(0, "main", nil)
	is("after the move", "GHSA-lodash open web/package-lock.json lodash 4.17.20", "GHSA-urllib open api/uv.lock urllib3 1.25.0")
	if moved := w.advised()["GHSA-urllib"]; moved.ID != first.ID || !moved.RelevantSince.Equal(first.RelevantSince.Time) {
		w.Errorf("it became %d of %v, was %d of %v", moved.ID, moved.RelevantSince, first.ID, first.RelevantSince)
	}

	before := w.dependencies()
	w.want(0, "main")
	is("after a scan alone", "GHSA-lodash open web/package-lock.json lodash 4.17.20", "GHSA-urllib open api/uv.lock urllib3 1.25.0")
	if after := w.dependencies(); !slices.Equal(before, after) {
		w.Errorf("a scan alone changed %v to\n%v", before, after)
	}

	w.edit("web/package-lock.json", `"node_modules/lodash":{"version":"4.17.20"`, `"node_modules/lodash":{"version":"4.17.21"`)
	w.commit("upgrade")
	out, _ = w.build(0, "main", nil)
	is("after the upgrade", "GHSA-lodash fixed web/package-lock.json lodash 4.17.20", "GHSA-urllib open api/uv.lock urllib3 1.25.0")
	if len(out.Fixed) != 1 || out.Fixed[0].Path != "web/package-lock.json" {
		w.Errorf("the build reports %+v", out.Fixed)
	}

	w.advise(strings.Replace(newsRecord("GHSA-urllib", "PyPI", "urllib3", "1.26.5", `,"withdrawn":"2026-02-01T00:00:00Z"`), "2026-01-01", "2026-02-01", 1))
	is("after the withdrawal", "GHSA-lodash fixed web/package-lock.json lodash 4.17.20")
	w.want(0, "main")
	is("after a scan alone again", "GHSA-lodash fixed web/package-lock.json lodash 4.17.20")
}
