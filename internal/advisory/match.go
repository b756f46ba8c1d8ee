package advisory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
)

// Store provides the storage for matching in one transaction of one deployment.
type Store interface {
	// AdvisoryVersion returns a number that increases with every change of advisories.
	AdvisoryVersion(ctx context.Context) (int64, error)
	// AdvisoryGroups returns the groups with records about the packages, by package. A group
	// contains all its records with their texts.
	AdvisoryGroups(ctx context.Context, packages []string) (map[string][]model.AdvisoryGroup, error)
	// Scores returns the EPSS scores of CVEs. CVEs without a score are omitted.
	Scores(ctx context.Context, cves []string) (map[string]model.EPSS, error)
	// Holdings returns the lockfiles in force on each of the refs. Their dependencies are limited
	// to the packages with these ids, unless packages is nil.
	Holdings(ctx context.Context, refs []model.ProjectRef, packages []int64) ([][]model.Holding, error)
	// Subjects returns the subjects of the supply-chain findings of each ref, oldest first.
	Subjects(ctx context.Context, refs []model.ProjectRef) ([][]model.Subject, error)
}

// Scope restricts a match to some packages. A nil scope means all packages.
type Scope struct {
	Keys map[string]bool // keys as returned by purl.Key
	IDs  []int64         // of the deployment's dictionary
}

func (s *Scope) has(key string) bool { return s == nil || s.Keys[key] }

// Match returns the advisories' matches for the lockfiles of a ref, for ingest.Follow. It returns
// the context's error if the context ends.
func (l *Library) Match(
	ctx context.Context, s Store, projectID int64, ref string, scope *Scope,
) (model.Advised, error) {
	return first(l.MatchAll(ctx, s, []model.ProjectRef{{ProjectID: projectID, Ref: ref}}, scope))
}

// MatchAll is Match for several refs, which are read together.
func (l *Library) MatchAll(
	ctx context.Context, s Store, refs []model.ProjectRef, scope *Scope,
) ([]model.Advised, error) {
	var ids []int64
	if scope != nil {
		ids = append([]int64{}, scope.IDs...)
	}
	holdings, err := s.Holdings(ctx, refs, ids)
	if err != nil {
		return nil, err
	}
	return l.match(ctx, s, refs, scope, holdings)
}

func first(list []model.Advised, err error) (model.Advised, error) {
	if err != nil {
		return model.Advised{}, err
	}
	return list[0], nil
}

// match is MatchAll with the given lockfiles.
func (l *Library) match(
	ctx context.Context, s Store, refs []model.ProjectRef, scope *Scope, holdings [][]model.Holding,
) ([]model.Advised, error) {
	subjects, err := s.Subjects(ctx, refs)
	if err != nil {
		return nil, err
	}
	view, err := l.view(ctx, s, packagesOf(holdings))
	if err != nil {
		return nil, fmt.Errorf("read the advisories: %w", err)
	}
	list := make([]model.Advised, len(refs))
	for i, at := range refs {
		if list[i], err = view.match(ctx, at, scope, holdings[i], subjects[i]); err != nil {
			return nil, err
		}
	}
	return list, score(ctx, s, list)
}

// match returns the matches of a ref without EPSS scores.
func (v view) match(
	ctx context.Context, at model.ProjectRef, scope *Scope, holdings []model.Holding, subjects []model.Subject,
) (model.Advised, error) {
	out := model.Advised{
		ProjectID:  at.ProjectID,
		Ref:        at.Ref,
		News:       scope != nil,
		InLockfile: map[int64]bool{},
		Withdrawn:  map[int64]bool{},
	}
	m := matcher{view: v, subjects: byLockfilePackage(subjects), inUse: map[lockfilePackage]map[string]bool{}}
	for _, f := range subjects {
		if f.Source == model.SourceAdvisories {
			m.inUse[lockfilePackage{f.Lockfile, purl.Key(f.Ecosystem, f.Package)}] = map[string]bool{}
		}
	}
	for _, h := range holdings {
		out.Lockfiles = append(out.Lockfiles, h.Lockfile)
		if err := m.lockfile(ctx, h); err != nil {
			return out, err
		}
	}
	out.Matches = m.matches
	for i := range m.matches {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		out.Twins = append(out.Twins, m.twins(&m.matches[i]))
	}
	for _, f := range subjects {
		if key := purl.Key(f.Ecosystem, f.Package); f.Source == model.SourceAdvisories && scope.has(key) {
			out.InLockfile[f.FindingID] = m.inUse[lockfilePackage{f.Lockfile, key}][f.Version]
			if p := v[key]; p != nil && p.withdrawn[f.Group] {
				out.Withdrawn[f.FindingID] = true
			}
		}
	}
	return out, nil
}

// packagesOf returns the distinct packages of lockfiles.
func packagesOf(holdings [][]model.Holding) []string {
	seen := map[string]bool{}
	var out []string
	for _, h := range slices.Concat(holdings...) {
		for i := range h.Dependencies {
			if key := purl.Key(h.Dependencies[i].Ecosystem, h.Dependencies[i].Name); !seen[key] {
				seen[key] = true
				out = append(out, key)
			}
		}
	}
	return out
}

// lockfilePackage is a package in a lockfile.
type lockfilePackage struct{ lockfile, key string }

func byLockfilePackage(subjects []model.Subject) map[lockfilePackage][]model.Subject {
	out := map[lockfilePackage][]model.Subject{}
	for _, s := range subjects {
		if s.Source != model.SourceAdvisories && s.Vulnerability != "" {
			at := lockfilePackage{s.Lockfile, purl.Key(s.Ecosystem, s.Package)}
			out[at] = append(out[at], s)
		}
	}
	return out
}

// matcher matches the lockfiles of one ref.
type matcher struct {
	view     view
	subjects map[lockfilePackage][]model.Subject // of scanners
	inUse    map[lockfilePackage]map[string]bool // versions in use of packages for which the advisories have findings
	matches  []model.Match
}

// lockfile adds the matches of a lockfile, by package and group. It returns the context's error if
// the context ends.
func (m *matcher) lockfile(ctx context.Context, h model.Holding) error {
	by := map[string][]*model.MatchDependency{}
	var keys []string
	for i := range h.Dependencies {
		d := &h.Dependencies[i]
		key := purl.Key(d.Ecosystem, d.Name)
		if versions := m.inUse[lockfilePackage{h.Lockfile, key}]; versions != nil {
			versions[d.Version] = true // regardless of remaining advisories
		}
		if m.view[key] == nil {
			continue
		}
		if by[key] == nil {
			keys = append(keys, key)
		}
		by[key] = append(by[key], d)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if err := ctx.Err(); err != nil {
			return err
		}
		m.pkg(h, m.view[key], by[key])
	}
	return nil
}

// pkg adds the matches of a package in a lockfile. Each vulnerability matches the lowest affected
// version.
func (m *matcher) pkg(h model.Holding, p *packageEntry, versions []*model.MatchDependency) {
	type hit struct {
		dependency *model.MatchDependency
		fix        string
	}
	hits := make([]hit, len(p.groups))
	for _, d := range p.lowestFirst(versions) {
		verdict := p.verdictOn(d.Version)
		for at, group := range verdict.groups {
			if hits[group].dependency == nil {
				hits[group] = hit{d, verdict.fixes[at]}
			}
		}
	}
	for group, found := range hits {
		if found.dependency != nil {
			m.matches = append(m.matches, newMatch(h, p, p.groups[group], found.dependency, found.fix))
		}
	}
}

func newMatch(h model.Holding, p *packageEntry, v *Vulnerability, d *model.MatchDependency, fix string) model.Match {
	out := model.Match{
		Group: v.Group, Former: v.Former, IDs: v.Names, Package: p.key, Severity: v.Severity(p.key), Rule: v.Rule(),
		ScanID: h.ScanID, Commit: h.Commit,
		Dependency: model.Vulnerable{
			Ecosystem: d.Ecosystem, Package: d.Name, Version: d.Version,
			Transitivity: d.Transitivity, Lockfile: h.Lockfile, Line: d.Line,
			Vulnerability: v.Shown, Reachability: model.ReachabilityUnknown,
			Malicious: v.Malicious, Unrated: !v.Rated(p.key), Group: v.Group,
		},
	}
	out.Message = fmt.Sprintf("%s %s is affected by %s", d.Name, d.Version, v.Shown)
	if summary := v.Summary(); summary != "" {
		out.Message += ": " + summary
	}
	if v.Malicious {
		out.Dependency.Reachability = model.AlwaysReachable
	}
	if fix != "" {
		out.Dependency.Fixes = []model.Fix{{Package: d.Name, Version: fix}}
	}
	return out
}

// twins returns the findings of scanners for the same vulnerability.
func (m *matcher) twins(match *model.Match) (out []model.Subject) {
	for _, s := range m.subjects[lockfilePackage{match.Dependency.Lockfile, match.Package}] {
		if slices.Contains(match.IDs, strings.ToUpper(s.Vulnerability)) {
			out = append(out, s)
		}
	}
	return out
}

// score adds the EPSS scores. A match with several CVEs gets the highest score.
func score(ctx context.Context, s Store, list []model.Advised) error {
	of := map[*model.Match][]string{}
	var all []string
	for _, advised := range list {
		for i := range advised.Matches {
			m := &advised.Matches[i]
			of[m] = cvesOf(m.IDs)
			all = append(all, of[m]...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	scores, err := s.Scores(ctx, slices.Compact(all))
	if err != nil {
		return fmt.Errorf("read the EPSS scores: %w", err)
	}
	for m, cves := range of {
		for _, cve := range cves {
			d := &m.Dependency
			if score, ok := scores[cve]; ok && (d.EPSS == nil || score.Score > d.EPSS.Score) {
				d.EPSS = &score
			}
		}
	}
	return nil
}

func cvesOf(names []string) (out []string) {
	for _, n := range names {
		if cveID.MatchString(n) {
			out = append(out, n)
		}
	}
	return out
}
