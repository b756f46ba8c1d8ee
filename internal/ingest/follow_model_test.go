package ingest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// shelf is a simple model of docs/reference/advisories.md for one project. It contains advisories,
// lockfiles, scanner results and the resulting findings. Lockfiles do not move, and versions are
// small numbers.
type shelf struct {
	step     int
	records  []*shelfRecord
	groups   int                                    // number of groups created
	former   map[int][]int                          // groups that were merged into one
	locks    map[string]map[string]map[string][]int // by ref, lockfile, package
	rows     []*shelfRow                            // by serial
	lineages map[string]*modelLineage               // by identity
	born     int                                    // number of lineages created
	primary  string                                 // the branch that was scanned in full first
	latest   map[string]string                      // the last upload, by ref and source
}

type shelfRecord struct {
	id        string
	aliases   []string
	pkg       string
	low, high int
	withdrawn bool
	group     int
}

type shelfRow struct {
	serial         int
	scanner        bool
	byFull         bool // seen by a full scan or the advisories
	ref, lock, pkg string
	vuln           string // the scanner's name, or the displayed one
	group          int
	version        int
	state          model.State
	lineage        *modelLineage
	since, changed int
}

func newShelf() *shelf {
	return &shelf{latest: map[string]string{}, former: map[int][]int{}, locks: map[string]map[string]map[string][]int{}, lineages: map[string]*modelLineage{}}
}

// event applies one line:
//
//	full REF [LOCK PKG@V… | LOCK PKG@V…]   all lockfiles of the ref
//	diff REF LOCK PKG@V…                   one, by a diff scan
//	osv ID[=ALIAS,ALIAS] PKG LOW-HIGH      a record, new or changed
//	withdraw ID
//	scan REF LOCK/PKG/VULN…                a full report of a scanner
//	part REF LOCK/PKG/VULN…                its diff report
//	triage SERIAL STATE
//	delete REF
func (s *shelf) event(line string) {
	s.step++
	word := strings.Fields(line)
	if s.repeats(word) {
		return
	}
	switch word[0] {
	case "full":
		s.locks[word[1]] = map[string]map[string][]int{}
		for _, lock := range lockfilesOf(line) {
			s.locks[word[1]][lock[0]] = packagesOf(lock[1:])
		}
		s.follow(word[1])
	case "diff":
		if s.locks[word[1]] == nil {
			s.locks[word[1]] = map[string]map[string][]int{}
		}
		s.locks[word[1]][word[2]] = packagesOf(word[3:])
		s.follow(word[1])
	case "osv", "withdraw":
		s.publish(word)
		for _, ref := range slices.Sorted(maps.Keys(s.locks)) {
			s.follow(ref)
		}
	case "scan", "part":
		s.scan(word[1], word[2:], word[0] == "scan")
		s.follow(word[1])
	case "triage":
		n, _ := strconv.Atoi(word[1])
		state, _ := model.ParseTriageState(word[2])
		if n <= len(s.rows) {
			l := s.rows[n-1].lineage
			l.triage, l.human = state, true
		}
	case "delete":
		delete(s.locks, word[1])
		delete(s.latest, word[1]+" lockfiles")
		delete(s.latest, word[1]+" scanner")
		for _, r := range s.rows {
			if r.ref == word[1] {
				r.leave(model.StateRemoved, s.step)
			}
		}
	}
	if s.primary == "" && (word[0] == "full" || word[0] == "scan") {
		s.primary = word[1]
	}
	for _, l := range s.lineages {
		l.from = l.born
	}
	for _, r := range s.rows {
		r.lineage.from = r.lineage.born
	}
}

// repeats reports whether an upload equals the last one of its source to the ref. Repeats change
// nothing.
func (s *shelf) repeats(word []string) bool {
	source := map[string]string{"full": " lockfiles", "diff": " lockfiles", "scan": " scanner", "part": " scanner"}[word[0]]
	if source == "" {
		return false
	}
	items := slices.Clone(word[2:])
	if source == " scanner" {
		slices.Sort(items)
		items = slices.Compact(items)
	}
	content := fmt.Sprint(word[0], items)
	repeated := s.latest[word[1]+source] == content
	s.latest[word[1]+source] = content
	return repeated
}

// lockfilesOf splits "full REF A x@1 | B y@2".
func lockfilesOf(line string) (out [][]string) {
	_, rest, _ := strings.Cut(line, " ")
	_, rest, _ = strings.Cut(rest, " ")
	for part := range strings.SplitSeq(rest, "|") {
		if words := strings.Fields(part); len(words) > 0 {
			out = append(out, words)
		}
	}
	return out
}

func packagesOf(words []string) map[string][]int {
	out := map[string][]int{}
	for _, w := range words {
		name, version, _ := strings.Cut(w, "@")
		v, _ := strconv.Atoi(version)
		out[name] = append(out[name], v)
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

// publish stores a record and groups records that share a name.
func (s *shelf) publish(word []string) {
	id, aliases, _ := strings.Cut(word[1], "=")
	at := slices.IndexFunc(s.records, func(r *shelfRecord) bool { return r.id == id })
	if word[0] == "withdraw" {
		if at >= 0 {
			s.records[at].withdrawn = true
		}
		return
	}
	if at < 0 {
		at = len(s.records)
		s.records = append(s.records, &shelfRecord{id: id})
	}
	r := s.records[at]
	r.aliases, r.pkg, r.withdrawn = nil, word[2], false
	if aliases != "" {
		r.aliases = strings.Split(aliases, ",")
	}
	fmt.Sscanf(word[3], "%d-%d", &r.low, &r.high)
	s.regroup()
}

// regroup merges records with common names into one vulnerability. It retains the oldest group of
// its records that no vulnerability with an older record has.
func (s *shelf) regroup() {
	used, seen := map[int]bool{}, map[*shelfRecord]bool{}
	for _, r := range s.records {
		if seen[r] {
			continue
		}
		part := []*shelfRecord{r}
		for i := 0; i < len(part); i++ {
			seen[part[i]] = true
			for _, other := range s.records {
				if !slices.Contains(part, other) && shares(part[i], other) {
					part = append(part, other)
				}
			}
		}
		var had []int
		for _, p := range part {
			if p.group > 0 && !used[p.group] {
				had = append(had, p.group)
			}
		}
		slices.Sort(had)
		had = slices.Compact(had)
		if len(had) == 0 {
			s.groups++
			had = []int{s.groups}
		}
		for _, p := range part {
			p.group = had[0]
		}
		used[had[0]] = true
		for _, gone := range had[1:] {
			if !slices.ContainsFunc(s.records, func(r *shelfRecord) bool { return r.group == gone }) {
				s.former[had[0]] = append(append(s.former[had[0]], gone), s.former[gone]...)
				delete(s.former, gone)
			}
		}
	}
}

func shares(a, b *shelfRecord) bool {
	names := append([]string{a.id}, a.aliases...)
	return slices.Contains(names, b.id) || slices.ContainsFunc(b.aliases, func(n string) bool { return slices.Contains(names, n) })
}

// names returns all names of a group's records and the displayed one. That is the lowest CVE,
// otherwise the lowest GHSA, otherwise the lowest name.
func (s *shelf) names(group int) (all []string, shown string) {
	for _, r := range s.records {
		if r.group == group {
			all = append(append(all, r.id), r.aliases...)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		rank := func(n string) int { return slices.Index([]string{"CVE", "GHS", "OSV"}, n[:3]) }
		return cmp.Or(rank(a)-rank(b), strings.Compare(a, b))
	})
	return all, all[0]
}

// scan updates a scanner's findings (docs/explanation/life-of-a-finding.md). A result with a new
// name that the advisories consider equal is the same finding.
func (s *shelf) scan(ref string, reported []string, full bool) {
	now := s.liveRows()
	is, fresh := s.recognise(ref, reported, full)
	var back, added []*shelfRow
	for _, r := range s.rows {
		location, seen := is[r]
		switch {
		case seen:
			r.call(location)
			r.byFull = r.byFull || full
			if !r.live() {
				r.state, r.since, r.changed = model.Unresolved, s.step, s.step
				back = append(back, r)
			}
		case r.scanner && r.ref == ref && full:
			r.leave(model.Fixed, s.step)
		}
	}
	for _, location := range fresh {
		r := &shelfRow{
			serial: len(s.rows) + 1, scanner: true, byFull: full, ref: ref,
			state: model.Unresolved, since: s.step, lineage: s.lineages["scanner "+location],
		}
		r.call(location)
		s.rows, added = append(s.rows, r), append(added, r)
	}
	s.split(ref, true, full, now, added)
	for _, r := range back {
		s.back(r, false)
	}
}

// recognise finds the rows of a report by name, or by another name of their lineage. If several
// rows match, it prefers live ones, then the same lockfile, then the oldest. It also returns the
// new places.
func (s *shelf) recognise(ref string, reported []string, full bool) (is map[*shelfRow]string, fresh []string) {
	is = map[*shelfRow]string{}
	var others []string
	slices.Sort(reported)
	for _, location := range slices.Compact(reported) {
		if i := slices.IndexFunc(s.rows, func(r *shelfRow) bool { return r.scanner && r.ref == ref && r.location() == location }); i >= 0 {
			is[s.rows[i]] = location
		} else {
			others = append(others, location)
		}
	}
	for _, location := range others {
		var meant []*shelfRow
		for _, r := range s.rows {
			if r.scanner && r.ref == ref && is[r] == "" && r.lineage == s.lineages["scanner "+location] && (full || !r.live()) {
				meant = append(meant, r)
			}
		}
		slices.SortStableFunc(meant, func(a, b *shelfRow) int {
			inLock := func(r *shelfRow) bool { return strings.HasPrefix(location, r.lock+"/") }
			return cmp.Or(compareFlags(b.live(), a.live()), compareFlags(inLock(b), inLock(a)))
		})
		if len(meant) == 0 {
			fresh = append(fresh, location)
		} else {
			is[meant[0]] = location
		}
	}
	return is, fresh
}

// call sets the scanner's current name of a row.
func (r *shelfRow) call(location string) {
	r.lock, r.pkg, r.vuln = partsOf(location)
}

// partsOf splits "LOCK/PKG/VULN".
func partsOf(location string) (lock, pkg, vuln string) {
	part := strings.Split(location, "/")
	return strings.Join(part[:len(part)-2], "/"), part[len(part)-2], part[len(part)-1]
}

func (r *shelfRow) location() string { return r.lock + "/" + r.pkg + "/" + r.vuln }

// identity returns the identity of a row, which is the same on all refs.
func (r *shelfRow) identity() string {
	if r.scanner {
		return "scanner " + r.location()
	}
	return shelfMatch{lock: r.lock, pkg: r.pkg}.identity(r.group)
}

func (r *shelfRow) live() bool { return r.state == model.Unresolved }

func (r *shelfRow) leave(state model.State, step int) {
	if r.state != model.StateRemoved && (r.live() || state == model.StateRemoved) {
		r.state, r.changed = state, step
	}
}

// back returns a finding to its open state. Triage in progress is reopened, unless the finding only
// changed between a scanner and the advisories.
func (s *shelf) back(r *shelfRow, transferred bool) {
	r.state, r.since, r.changed = model.Unresolved, s.step, s.step
	if l := r.lineage; !transferred && (l.triage == model.TriageReviewing || l.triage == model.TriageFixing) {
		l.triage, l.human = model.TriageReopened, false
	}
}

// modelLineage is a lineage in the model.
type modelLineage struct {
	born   int
	triage model.TriageState
	human  bool
	from   int // number of the lineage with the original triage
}

func modelWeight(l *modelLineage) int {
	switch {
	case l.triage == model.TriageUntriaged:
		return 0
	case l.human:
		return 2
	}
	return 1
}
