package store_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// record returns an advisory about packages with a name and aliases.
func record(name string, packages []string, aliases ...string) model.Advisory {
	a := model.Advisory{
		Name: name, Names: append([]string{strings.ToUpper(name)}, aliases...), Packages: packages, Modified: storetest.Epoch,
		Facts: []byte(`{"id":"` + name + `"}`), Text: []byte(`{"summary":"` + strings.Repeat("long ", 100) + `"}`),
	}
	a.Digest = advisory.DigestOf([]byte(fmt.Sprint(a)))
	return a
}

func putAdvisories(t tb, s *store.Store, list ...model.Advisory) {
	t.Helper()
	if err := s.PutAdvisories(t.Context(), list, advisory.Regroup); err != nil {
		t.Fatal(err)
	}
}

func publish(t tb, s *store.Store) int64 {
	t.Helper()
	version, err := s.PublishAdvisories(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// groupsOf returns the groups of a package by the name of the first record.
func (d tenant) groupsOf(key string) (list []model.AdvisoryGroup) {
	d.t.Helper()
	d.view(func(ctx context.Context, tx *store.Tx) error {
		groups, err := tx.AdvisoryGroups(ctx, []string{key})
		list = groups[key]
		return err
	})
	return list
}

func TestAdvisoriesAreStoredAndGrouped(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		one, two := record("GHSA-1", []string{"npm/a", "npm/b"}, "CVE-1"), record("OSV-2", []string{"npm/a"})
		putAdvisories(t, s, one, two)
		if groups := d.groupsOf("npm/a"); len(groups) != 2 || len(d.groupsOf("npm/b")) != 1 || len(d.groupsOf("npm/c")) != 0 {
			t.Fatalf("%+v", groups)
		}
		stored := d.groupsOf("npm/b")[0].Records[0]
		if stored.Name != one.Name || string(stored.Text) != string(one.Text) || string(stored.Facts) != string(one.Facts) || stored.Digest != one.Digest || !stored.Modified.Equal(one.Modified) {
			t.Errorf("%+v", stored)
		}
		digests, err := s.AdvisoryDigests(t.Context(), []string{"GHSA-1", "GHSA-9"})
		if err != nil || len(digests) != 1 || digests["GHSA-1"] != one.Digest {
			t.Errorf("%v %v", digests, err)
		}
		putAdvisories(t, s, record("OSV-2", []string{"npm/a"}, "CVE-1"))
		groups := d.groupsOf("npm/a")
		if len(groups) != 1 || len(groups[0].Records) != 2 || !slices.Equal(groups[0].Former, []int64{2}) || groups[0].ID != 1 {
			t.Fatalf("%+v", groups)
		}
		putAdvisories(t, s, record("OSV-2", []string{"npm/c"}))
		if groups := d.groupsOf("npm/c"); len(groups) != 1 || groups[0].ID != 3 {
			t.Errorf("apart again: %+v", groups)
		}
		if groups := d.groupsOf("npm/a"); len(groups) != 1 || len(groups[0].Records) != 1 {
			t.Errorf("apart again: %+v", groups)
		}
		g, err := s.AdvisoryGroup(t.Context(), "cve-1")
		if err != nil || g.ID != 1 {
			t.Errorf("%+v %v", g, err)
		}
		_, err = s.AdvisoryGroup(t.Context(), "CVE-9")
		fails(t, "an unknown advisory", err, model.ErrNotFound)
		if list, err := s.Advisories(t.Context(), "npm/c", 0, 10); err != nil || len(list) != 1 || list[0].Name != "OSV-2" {
			t.Errorf("%+v %v", list, err)
		}
		if list, err := s.Advisories(t.Context(), "", 1, 10); err != nil || len(list) != 1 {
			t.Errorf("%+v %v", list, err)
		}
	})
}

func TestAdvisoryChangesByVersion(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		putAdvisories(t, s, record("A-1", []string{"npm/a"}))
		if v, _, err := s.AdvisoryVersions(t.Context()); v != 0 || err != nil {
			t.Errorf("before it is published: version %d, %v", v, err)
		}
		first := publish(t, s)
		if model.Commits(first) != 1 {
			t.Errorf("version %d", first)
		}
		if v := publish(t, s); v != first {
			t.Errorf("nothing new, version %d after %d", v, first)
		}
		putAdvisories(t, s, record("A-1", []string{"npm/b"}))
		putAdvisories(t, s, record("B-1", []string{"npm/c"}, "A-1"), record("C-1", []string{"npm/d"}))
		second := publish(t, s)
		if model.Commits(second) != 2 {
			t.Errorf("version %d", second)
		}
		d.view(func(ctx context.Context, tx *store.Tx) error {
			touched, err := tx.TouchedPackages(ctx, first, second)
			slices.Sort(touched)
			same(t, "touched: old and new packages, and those of the whole group", touched, []string{"npm/a", "npm/b", "npm/c", "npm/d"})
			return err
		})
	})
}

// TestAdvisoryGroupsAreConnectedComponents checks that groups are the connected components of records
// that share names, in any order of arrival.
func TestAdvisoryGroupsAreConnectedComponents(t *testing.T) {
	s := storetest.New(t, "sqlite")
	d := newTenant(t, s)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		d := tenant{t, s, d.id}
		name := func(i int) string { return fmt.Sprintf("R%d-%d", n, i) }
		now := map[string]model.Advisory{}
		key := fmt.Sprint("npm/", n)
		for range rapid.IntRange(1, 6).Draw(t, "loads") {
			var list []model.Advisory
			for range rapid.IntRange(1, 3).Draw(t, "records") {
				aliases := []string{}
				for range rapid.IntRange(0, 2).Draw(t, "aliases") {
					aliases = append(aliases, name(rapid.IntRange(0, 6).Draw(t, "alias")))
				}
				list = append(list, record(name(rapid.IntRange(0, 6).Draw(t, "record")), []string{key}, aliases...))
			}
			putAdvisories(t, s, list...)
			for _, a := range list {
				now[a.Name] = a
			}
			var members []model.AdvisoryMember
			for i, name := range slices.Sorted(maps.Keys(now)) {
				members = append(members, model.AdvisoryMember{ID: int64(i + 1), Names: now[name].Names})
			}
			next := int64(0)
			groups, _, err := advisory.Regroup(members, func() (int64, error) { next++; return next, nil })
			d.check(err)
			want := map[int64][]string{}
			for i, name := range slices.Sorted(maps.Keys(now)) {
				want[groups[int64(i+1)]] = append(want[groups[int64(i+1)]], name)
			}
			got := map[string]bool{}
			for _, g := range d.groupsOf(key) {
				var names []string
				for _, r := range g.Records {
					names = append(names, r.Name)
				}
				slices.Sort(names)
				got[strings.Join(names, " ")] = true
			}
			for _, names := range want {
				if !got[strings.Join(names, " ")] || len(got) != len(want) {
					t.Fatalf("%v are no group of %v", names, got)
				}
			}
		}
	})
}

func TestClaimAdvisoryMatchIsExclusive(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p, ok, err := s.ClaimAdvisoryMatch(t.Context(), d.id, time.Hour)
		if err != nil || !ok || p != (model.AdvisoryProgress{}) {
			t.Fatalf("%+v %v %v", p, ok, err)
		}
		if _, ok, err := s.ClaimAdvisoryMatch(t.Context(), d.id, time.Hour); ok || err != nil {
			t.Errorf("claimed twice: %v", err)
		}
		if _, ok, err := s.ClaimAdvisoryMatch(t.Context(), d.noise().id, time.Hour); !ok || err != nil {
			t.Errorf("another deployment: %v %v", ok, err)
		}
		saved := model.AdvisoryProgress{Version: 3, Target: 4, After: model.ProjectRef{ProjectID: 5, Ref: main}, Scores: 2}
		d.silently("progress", func(ctx context.Context, tx *store.Tx) error { return tx.SaveAdvisoryMatch(ctx, saved, 0) })
		if p, ok, err := s.ClaimAdvisoryMatch(t.Context(), d.id, 0); err != nil || !ok || p != saved {
			t.Errorf("%+v %v %v", p, ok, err)
		}
		if all, err := s.AdvisoryMatches(t.Context()); err != nil || all[d.id] != saved {
			t.Errorf("%+v %v", all, err)
		}
		fails(t, "no deployment", func() error { _, _, err := s.ClaimAdvisoryMatch(t.Context(), 999, 0); return err }(), model.ErrNotFound)
	})
}

func TestScoresUpdateAffectedLineages(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/shop")
		putAdvisories(t, s, record("GHSA-1", []string{"npm/a"}, "CVE-2021-0001", "CVE-2021-0002"))
		found := d.findings(p, 3, func(i int, w *model.FindingWrite) {
			w.IssueType, w.Subject = model.SCA, []*model.Subject{{Group: 1, Vulnerability: "CVE-2021-0001"}, {Vulnerability: "cve-2021-0003"}, {Vulnerability: "GHSA-9"}}[i]
		})
		scores := func(list ...model.EPSSScore) {
			t.Helper()
			d.check(s.PutScores(t.Context(), func(put func(model.EPSSScore) error) error {
				for _, e := range list {
					d.check(put(e))
				}
				return nil
			}))
		}
		scores(model.EPSSScore{CVE: "CVE-2021-0001", EPSS: model.EPSS{Score: 0.1}}, model.EPSSScore{CVE: "CVE-2021-0002", EPSS: model.EPSS{Score: 0.7, Percentile: 0.9}},
			model.EPSSScore{CVE: "CVE-2021-0003", EPSS: model.EPSS{Score: 0.3}})
		refresh := func(ctx context.Context, tx *store.Tx) error {
			return tx.RefreshScores(ctx, []model.ProjectRef{{ProjectID: p.ID, Ref: main}})
		}
		d.update(refresh)
		d.silently("the same scores", refresh)
		d.silently("the whole deployment", func(ctx context.Context, tx *store.Tx) error { return tx.RefreshScores(ctx, nil) })
		d.check(s.PutExploited(t.Context(), []model.KEV{{CVE: "CVE-2021-0002"}, {CVE: "CVE-2021-0003"}}))
		d.update(refresh)
		d.silently("the same catalog", refresh)
		exploited := func(want ...bool) {
			t.Helper()
			for i := range want {
				d.view(func(ctx context.Context, tx *store.Tx) error {
					o, err := tx.Finding(ctx, found[i].ID)
					same(t, "exploited", o.Lineage.Annotations.Exploited, want[i])
					return err
				})
			}
		}
		exploited(true, true, false)
		d.check(s.PutExploited(t.Context(), []model.KEV{{CVE: "CVE-2021-0003"}}))
		d.update(refresh)
		exploited(false, true, false)
		for i, want := range []*model.EPSS{{Score: 0.7, Percentile: 0.9}, {Score: 0.3}, nil} {
			d.view(func(ctx context.Context, tx *store.Tx) error {
				o, err := tx.Finding(ctx, found[i].ID)
				same(t, "score", o.Lineage.Annotations.EPSS, want)
				return err
			})
		}
		if _, v, err := s.AdvisoryVersions(t.Context()); model.Commits(v) != 3 || err != nil {
			t.Errorf("version of the scores %d, %v", v, err)
		}
		err := s.PutScores(t.Context(), func(func(model.EPSSScore) error) error { return model.ErrTooLarge })
		fails(t, "a broken file", err, model.ErrTooLarge)
		d.view(func(ctx context.Context, tx *store.Tx) error {
			stored, err := tx.Scores(ctx, []string{"CVE-2021-0003", "CVE-2021-0009"})
			same(t, "after a broken file", stored, map[string]model.EPSS{"CVE-2021-0003": {Score: 0.3}})
			return err
		})
	})
}

func TestSourcesCatalogAndStatus(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		putAdvisories(t, s, record("GHSA-1", []string{"npm/a", "npm/b"}))
		publish(t, s)
		entry := model.KEV{CVE: "CVE-2021-0001", Added: storetest.Epoch, Ransomware: true, Name: "n", Action: "a"}
		d.check(s.PutExploited(t.Context(), []model.KEV{entry, {CVE: "CVE-2021-0002"}}))
		d.check(s.PutExploited(t.Context(), []model.KEV{entry}))
		d.view(func(ctx context.Context, tx *store.Tx) error {
			known, err := tx.Exploited(ctx, []string{"CVE-2021-0001", "CVE-2021-0002"})
			same(t, "exploited", known, map[string]model.KEV{"CVE-2021-0001": entry})
			return err
		})
		source := model.AdvisorySource{Location: "https://example.org/a.zip", Kind: "osv", ETag: "x", LoadedAt: storetest.Epoch, Records: 1}
		d.check(s.PutAdvisorySource(t.Context(), model.AdvisorySource{Location: source.Location}))
		d.check(s.PutAdvisorySource(t.Context(), source))
		got, err := s.AdvisorySource(t.Context(), source.Location)
		d.check(err)
		same(t, "source", got, source)
		status, err := s.AdvisoryStatus(t.Context())
		if err != nil || model.Commits(status.Version) != 1 || status.Records != 1 || status.Packages != 2 || status.Exploited != 1 || len(status.Sources) != 1 || status.ChangedAt.IsZero() {
			t.Errorf("%+v %v", status, err)
		}
		if other, err := s.AdvisorySource(t.Context(), "b"); err != nil || other != (model.AdvisorySource{Location: "b"}) {
			t.Errorf("%+v %v", other, err)
		}
	})
}

func TestFindingsAreSupplementedByAdvisories(t *testing.T) {
	const (
		message = `"rule_message":"\"fix_recommendations\":[] ,\"severity_unrated\":true,\"vulnerability_identifier\":"`
		fixed   = `"fix_recommendations":[{"package":"a","version":"2"}]`
		named   = `,"vulnerability_identifier":"CVE-1"`
		unrated = `,"severity_unrated":true` + named
	)
	fix := []model.Fix{{Package: "a", Version: "3"}}
	both := model.Supplement{Fixes: fix, Severity: model.SeverityCritical}
	cases := []struct {
		body, want string
		known      model.Supplement
		severity   model.Severity // it was medium before
	}{
		{message + `,"fix_recommendations":[],"usage":null`, message + `,"fix_recommendations":[{"package":"a","version":"3"}],"usage":null`, both, model.SeverityMedium},
		{fixed, fixed, both, model.SeverityMedium},
		{message + "," + fixed + unrated, message + "," + fixed + named, both, model.SeverityCritical},
		{`"fix_recommendations":[]` + unrated, `"fix_recommendations":[]` + named, model.Supplement{Severity: model.SeverityLow}, model.SeverityLow},
		{`"fix_recommendations":[]` + unrated, `"fix_recommendations":[{"package":"a","version":"3"}]` + unrated, model.Supplement{Fixes: fix}, model.SeverityMedium},
	}
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/shop")
		found := d.findings(p, len(cases), func(i int, w *model.FindingWrite) {
			w.IssueType, w.Severity, w.Body = model.SCA, model.SeverityMedium, []byte(cases[i].body)
		})
		var ids []int64
		known := map[int64]model.Supplement{}
		for i, c := range cases {
			ids, known[found[i].ID] = append(ids, found[i].ID), c.known
		}
		fill := func(ctx context.Context, tx *store.Tx) error { return tx.Supplement(ctx, known) }
		d.update(fill)
		d.silently("once more", fill)
		bodies, err := s.Bodies(t.Context(), d.id, ids)
		d.check(err)
		d.view(func(ctx context.Context, tx *store.Tx) error {
			rows, err := tx.FindingsByID(ctx, ids)
			for i, c := range cases {
				if got := string(bodies[ids[i]]); got != c.want || rows[i].Severity != c.severity {
					t.Errorf("finding %d is %v, %s, want %v, %s", i, rows[i].Severity, got, c.severity, c.want)
				}
			}
			return err
		})
	})
}

func TestSupplyFacts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/shop")
		putAdvisories(t, s, record("GHSA-1", []string{"npm/a"}, "CVE-2021-0001", "CVE-2021-0002"))
		group := d.groupsOf("npm/a")[0].ID
		d.check(s.PutExploited(t.Context(), []model.KEV{{CVE: "CVE-2021-0002"}, {CVE: "CVE-2021-0003"}}))
		subjects := []*model.Subject{
			{Package: "a", Version: "1", Vulnerability: "CVE-2021-0001", Group: group}, // exploited under another name
			// a scanner's name in lower case
			{Package: "b", Version: "2", Vulnerability: "cve-2021-0003"},
			{Package: "c", Version: "3", Vulnerability: "CVE-2021-0001"},
			nil, // not a dependency
		}
		found := d.findings(p, len(subjects), func(i int, w *model.FindingWrite) {
			if w.Subject = subjects[i]; w.Subject != nil {
				w.IssueType, w.Severity = model.SCA, model.Severity(i+1)
			}
			w.Body = []byte([]string{`"fix_recommendations":[{"package":"a","version":"1.1"}]`, `"fix_recommendations":[]`, `"usage":null`, `"x":1`}[i])
		})
		other := d.noise()
		foreign := other.findings(other.project("acme/shop"), 1, func(_ int, w *model.FindingWrite) {
			w.IssueType, w.Subject = model.SCA, &model.Subject{Package: "z", Version: "9", Vulnerability: "CVE-2021-0003"}
		})
		ids := []int64{foreign[0].ID + 1000}
		for _, w := range found {
			ids = append(ids, w.ID)
		}
		read := func(of tenant, ids []int64) (facts map[int64]model.SupplyFacts) {
			of.view(func(ctx context.Context, tx *store.Tx) (err error) {
				facts, err = tx.SupplyFacts(ctx, ids)
				return err
			})
			return facts
		}
		same(t, "facts", read(d, ids), map[int64]model.SupplyFacts{
			found[0].ID: {Severity: model.SeverityLow, Package: "a", Version: "1", Vulnerability: "CVE-2021-0001", Exploited: true, Fixes: []model.Fix{{Package: "a", Version: "1.1"}}},
			found[1].ID: {Severity: model.SeverityMedium, Package: "b", Version: "2", Vulnerability: "cve-2021-0003", Exploited: true, Fixes: []model.Fix{}},
			found[2].ID: {Severity: model.SeverityHigh, Package: "c", Version: "3", Vulnerability: "CVE-2021-0001"},
		})
		same(t, "of the other tenant", read(other, []int64{foreign[0].ID})[foreign[0].ID].Package, "z")
		same(t, "of none", read(d, nil), map[int64]model.SupplyFacts{})
	})
}
