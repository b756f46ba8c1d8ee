package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

// followed applies the events of a shelf with Apply and Follow. It uses a shelf for the records
// only, not for the resulting findings.
type followed struct {
	*memory
	news   *shelf
	clocks []time.Time // by step
}

const followedProject = "acme/shop"

func newFollowed() *followed {
	return &followed{memory: newMemory(), news: newShelf(), clocks: []time.Time{{}}}
}

func (f *followed) event(line string) error {
	f.clocks = append(f.clocks, f.tick(time.Minute))
	word := strings.Fields(line)
	switch word[0] {
	case "full":
		return f.state(word[1], lockfilesOf(line), true)
	case "diff":
		return f.state(word[1], [][]string{word[2:]}, false)
	case "osv", "withdraw":
		before := f.matchesByPackage()
		f.news.publish(word)
		return f.sweepOf(changed(before, f.matchesByPackage()))
	case "scan", "part":
		return f.scan(word[1], word[2:], word[0] == "scan")
	case "triage":
		n, _ := strconv.Atoi(word[1])
		state, _ := model.ParseTriageState(word[2])
		if ids := slices.Sorted(maps.Keys(f.rows)); n <= len(ids) {
			f.lineages[f.rows[ids[n-1]].LineageID].Triage = model.Triage{State: state}
		}
	case "delete":
		f.deleteRef("refs/heads/" + word[1])
	}
	return nil
}

func (f *followed) upload(ref string, full, declared bool, report model.Report) error {
	report.Products = model.Products(0).With(model.SCA)
	_, err := Apply(context.Background(), f, f, Upload{
		Project: model.Project{Name: followedProject}, Ref: ref, Full: full, DeclaredFull: declared, Report: &report, Advised: f.advised,
	})
	return err
}

func (f *followed) state(ref string, lockfiles [][]string, full bool) error {
	report := model.Report{Tool: "inventory", Inventories: []model.Inventory{}}
	for _, words := range lockfiles {
		i := model.Inventory{Lockfile: words[0]}
		for name, versions := range packagesOf(words[1:]) {
			for _, v := range versions {
				i.Dependencies = append(i.Dependencies, model.Dependency{Ecosystem: "npm", Name: name, Version: fmt.Sprint(v)})
			}
		}
		report.Inventories = append(report.Inventories, i)
	}
	return f.upload(ref, full, full, report)
}

func (f *followed) scan(ref string, reported []string, full bool) error {
	report := model.Report{Tool: "semgrep"}
	if full {
		report.Searched = []string{"a.lock", "b.lock", "a/p/x.lock", "b/p/x.lock"}
	}
	for _, location := range reported {
		lock, pkg, id := partsOf(location)
		report.Results = append(report.Results, model.Result{
			Rule: &model.Rule{Name: "rule-" + pkg + id, IssueType: model.SCA}, Path: lock,
			Dependency: &model.Vulnerable{Ecosystem: "npm", Package: pkg, Version: "1", Lockfile: lock, Vulnerability: id},
		})
	}
	return f.upload(ref, full, false, report)
}

func (f *followed) sweep() error { return f.sweepOf(nil) }

// sweepOf updates all refs for some packages, or for all if nil.
func (f *followed) sweepOf(packages map[string]bool) error {
	for left := f.refs(); len(left) > 0; {
		list := make([]model.Advised, len(left))
		for i, ref := range left {
			var err error
			if list[i], err = f.advised(context.Background(), f.projects[0].ID, ref, nil); err != nil {
				return err
			}
			if packages != nil {
				f.restrict(&list[i], packages)
			}
		}
		done, err := FollowAll(context.Background(), f, f, list, f.clock, 1+len(f.clocks)%4)
		if err != nil {
			return err
		}
		var waits []string
		for i := range done {
			if !done[i].Done {
				waits = append(waits, left[i])
			}
		}
		if len(waits) == len(left) {
			return errors.New("all refs wait")
		}
		left = waits
	}
	return nil
}

func (f *followed) refs() []string {
	refs := map[string]bool{}
	for _, i := range f.inventories {
		refs[i.Ref] = true
	}
	return slices.Sorted(maps.Keys(refs))
}

// matchesByPackage returns the matches of each package on all refs.
func (f *followed) matchesByPackage() map[string]string {
	out := map[string]string{}
	for _, ref := range f.refs() {
		_, _ = f.advised(context.Background(), 0, ref, nil) // makes news read the lockfiles
		for _, m := range f.news.matches(ref) {
			names, shown := f.news.names(m.group)
			out[m.pkg] += fmt.Sprintln(ref, m, names, shown, f.news.former[m.group])
		}
	}
	return out
}

func changed(before, after map[string]string) map[string]bool {
	out := map[string]bool{}
	for _, matches := range []map[string]string{before, after} {
		for pkg := range matches {
			if before[pkg] != after[pkg] {
				out[pkg] = true
			}
		}
	}
	return out
}

// restrict removes the matches of other packages.
func (f *followed) restrict(a *model.Advised, packages map[string]bool) {
	all := *a
	a.Matches, a.Twins = nil, nil
	for i := range all.Matches {
		if packages[all.Matches[i].Dependency.Package] {
			a.Matches, a.Twins = append(a.Matches, all.Matches[i]), append(a.Twins, all.Twins[i])
		}
	}
	maps.DeleteFunc(a.InLockfile, func(id int64, _ bool) bool { return !packages[f.rows[id].Subject.Package] })
}

// advised returns the advisories' matches for the store.
func (f *followed) advised(_ context.Context, projectID int64, ref string, _ []model.Holding) (model.Advised, error) {
	a := model.Advised{ProjectID: projectID, Ref: ref, InLockfile: map[int64]bool{}}
	locks := map[string]map[string]map[string][]int{ref: {}}
	for _, i := range f.inventories {
		if i.Ref != ref {
			continue
		}
		packages := map[string][]int{}
		for _, d := range i.Inventory.Dependencies {
			v, _ := strconv.Atoi(d.Version)
			packages[d.Name] = append(packages[d.Name], v)
			slices.Sort(packages[d.Name])
		}
		locks[ref][i.Inventory.Lockfile] = packages
	}
	a.Lockfiles = slices.Collect(maps.Keys(locks[ref]))
	f.news.locks = locks
	for _, m := range f.news.matches(ref) {
		a.Matches = append(a.Matches, f.match(m))
		a.Twins = append(a.Twins, f.twins(ref, m))
	}
	for id, w := range f.rows {
		if w.Ref == ref && w.Source == model.SourceAdvisories {
			v, _ := strconv.Atoi(w.Subject.Version)
			a.InLockfile[id] = slices.Contains(locks[ref][w.Subject.Lockfile][w.Subject.Package], v)
		}
	}
	return a, nil
}

func (f *followed) match(m shelfMatch) model.Match {
	names, shown := f.news.names(m.group)
	out := model.Match{
		Group: int64(m.group), IDs: names, Package: "npm/" + m.pkg, Rule: &model.Rule{Name: shown, IssueType: model.SCA},
		Dependency: model.Vulnerable{Ecosystem: "npm", Package: m.pkg, Version: fmt.Sprint(m.version), Lockfile: m.lock, Vulnerability: shown, Group: int64(m.group)},
	}
	for _, g := range f.news.former[m.group] {
		out.Former = append(out.Former, int64(g))
	}
	return out
}

func (f *followed) twins(ref string, m shelfMatch) (out []model.Subject) {
	names, _ := f.news.names(m.group)
	for _, id := range slices.Sorted(maps.Keys(f.rows)) {
		w := f.rows[id]
		if s := w.Subject; w.Source != model.SourceAdvisories && w.Ref == ref && s.Lockfile == m.lock && s.Package == m.pkg && slices.Contains(names, s.Vulnerability) {
			out = append(out, model.Subject{FindingID: id, LineageID: w.LineageID, Source: w.Source, State: w.State, ChangedAt: w.StateUpdatedAt})
		}
	}
	return out
}

func (f *followed) deleteRef(ref string) {
	for _, w := range f.rows {
		if w.Ref == ref && w.State != model.StateRemoved {
			w.State, w.StateUpdatedAt = model.StateRemoved, f.clock
		}
	}
	maps.DeleteFunc(f.inventories, func(_ string, i model.InventoryStatement) bool { return i.Ref == ref })
	for i := range f.scans {
		if f.scans[i].Ref == ref {
			f.scans[i].Digest = model.Digest{}
		}
	}
}

// String lists the rows in the format of shelf.
func (f *followed) String() string {
	var b strings.Builder
	for n, id := range slices.Sorted(maps.Keys(f.rows)) {
		w := f.rows[id]
		s := w.Subject
		source, version := "scanner", ""
		if w.Source == model.SourceAdvisories {
			source, version = "advisory", "@"+s.Version
		}
		status := model.StatusOf(w.State, f.lineages[w.LineageID].Triage.State).String()
		if status == "" {
			status = "removed"
		}
		fmt.Fprintf(&b, "%d %s %s %s %s %s%s %s L%d\n", n+1, source, strings.TrimPrefix(w.Ref, "refs/heads/"), s.Lockfile, s.Package,
			s.Vulnerability, version, status, 1+slices.Index(f.started, w.LineageID))
	}
	return b.String()
}

// TestFollowHistories applies the written histories with Apply and Follow.
func TestFollowHistories(t *testing.T) {
	for _, h := range shelfHistories {
		t.Run(h.what, func(t *testing.T) {
			f := newFollowed()
			f.projects = []model.Project{{ID: f.id(), Name: followedProject}}
			for line := range strings.Lines(strings.TrimSpace(h.events)) {
				if err := f.event(strings.TrimSpace(line)); err != nil {
					t.Fatalf("%s: %v", strings.TrimSpace(line), err)
				}
			}
			if diff := cmp.Diff(trimmed(h.want), f.String()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if err := f.settles(); err != nil {
				t.Error(err)
			}
		})
	}
}

// settles updates all refs until nothing is written. The findings of one ref may join or separate
// those of another, which is updated in the next round. This must terminate without changing a
// state.
func (f *followed) settles() error {
	states := func() map[int64]model.State {
		out := map[int64]model.State{}
		for id, w := range f.rows {
			out[id] = w.State
		}
		return out
	}
	before := states()
	for range 3 {
		f.tick(time.Minute)
		writes := f.writes
		if err := f.sweep(); err != nil {
			return err
		}
		if diff := cmp.Diff(before, states()); diff != "" {
			return fmt.Errorf("following the same on all refs again changed states (-before +after):\n%s", diff)
		}
		if f.writes == writes {
			return nil
		}
	}
	return errors.New("following the same on all refs never ends to write")
}

// TestFollowMatchesModel applies random histories to both. Either all lockfiles remain or all are
// removed, because the model supports no moves. The written histories and package align cover
// these.
func TestFollowMatchesModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, s := newFollowed(), newShelf()
		f.projects = []model.Project{{ID: f.id(), Name: followedProject}}
		var story []string
		for range rapid.IntRange(2, 14).Draw(t, "events") {
			line := drawEvent(t, s)
			story = append(story, line)
			s.event(line)
			if err := f.event(line); err != nil {
				t.Fatalf("%s\n%v", strings.Join(story, "\n"), err)
			}
			if diff := cmp.Diff(s.String(), f.String()); diff != "" {
				t.Fatalf("%s\n-model +real\n%s", strings.Join(story, "\n"), diff)
			}
			for n, id := range slices.Sorted(maps.Keys(f.rows)) {
				if want := f.clocks[s.rows[n].since]; !f.rows[id].RelevantSince.Equal(want) {
					t.Fatalf("%s\nfinding %d is relevant since %s, not %s", strings.Join(story, "\n"), n+1, f.rows[id].RelevantSince, want)
				}
			}
		}
		if err := f.settles(); err != nil {
			t.Fatalf("%s\n%v", strings.Join(story, "\n"), err)
		}
	})
}

// drawEvent draws the next event. Records retain their aliases; the written histories cover groups
// that split.
func drawEvent(t *rapid.T, s *shelf) string {
	ref := rapid.SampledFrom([]string{"main", "dev"}).Draw(t, "ref")
	lock := rapid.SampledFrom([]string{"a.lock", "b.lock"})
	pkg := rapid.SampledFrom([]string{"lodash", "axios"})
	id := rapid.SampledFrom([]string{"CVE-1", "GHSA-1", "OSV-1", "GHSA-2"})
	versions := func(name string) (out string) {
		for range rapid.IntRange(1, 2).Draw(t, "versions") {
			out += fmt.Sprintf(" %s@%d", name, rapid.IntRange(1, 4).Draw(t, "version"))
		}
		return out
	}
	switch rapid.SampledFrom([]string{"full", "full", "full", "diff", "osv", "osv", "osv", "withdraw", "scan", "scan", "part", "triage", "triage", "delete"}).Draw(t, "event") {
	case "full":
		if rapid.IntRange(0, 3).Draw(t, "lockfiles") == 0 {
			return "full " + ref
		}
		return "full " + ref + " a.lock" + versions(pkg.Draw(t, "package")) + " | b.lock" + versions(pkg.Draw(t, "package"))
	case "diff":
		return "diff " + ref + " " + lock.Draw(t, "lockfile") + versions(pkg.Draw(t, "package"))
	case "osv":
		line := "osv " + id.Draw(t, "id")
		var aliases []string
		if at := slices.IndexFunc(s.records, func(r *shelfRecord) bool { return "osv "+r.id == line }); at >= 0 {
			aliases = slices.Clone(s.records[at].aliases)
		}
		if rapid.Bool().Draw(t, "has an alias") {
			aliases = append(aliases, id.Draw(t, "alias"))
		}
		if len(aliases) > 0 {
			line += "=" + strings.Join(aliases, ",")
		}
		low := rapid.IntRange(1, 3).Draw(t, "low")
		return fmt.Sprintf("%s %s %d-%d", line, pkg.Draw(t, "package"), low, low+rapid.IntRange(0, 2).Draw(t, "span"))
	case "withdraw":
		return "withdraw " + id.Draw(t, "id")
	case "scan", "part":
		line := rapid.SampledFrom([]string{"scan ", "scan ", "part "}).Draw(t, "kind") + ref
		for range rapid.IntRange(0, 2).Draw(t, "results") {
			line += " " + lock.Draw(t, "lockfile") + "/" + pkg.Draw(t, "package") + "/" + id.Draw(t, "vulnerability")
		}
		return line
	case "triage":
		state := rapid.SampledFrom([]string{"ignored", "fixing", "reviewing", "reopened"}).Draw(t, "state")
		return fmt.Sprint("triage ", rapid.IntRange(1, max(1, len(s.rows))).Draw(t, "finding"), " ", state)
	}
	return "delete " + ref
}
