package ingest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
)

// pair is a stored finding and the sighting that it is now. It moved where its
// file did, or where its rule changed its text or folder.
type pair struct {
	row      *redoubt.Finding
	sighting *Sighting
	moved    bool
}

// matchKey is what a finding keeps when its identity changes. The members that
// a change does not keep are left out.
type matchKey struct {
	rule, path, pkg string
	code, pattern   redoubt.Digest
	edges           redoubt.Digest
	seen            outline
	muted           bool
}

// keyFunc returns the key of a finding, if it takes part.
type keyFunc func(f *redoubt.Finding) (matchKey, bool)

// pairUp finds among what a scan would close and what it sees first those that
// are one finding (semantics §5), and returns the others too, in their order.
//
// Where both sides of a key count the same they pair by path, then line;
// otherwise nobody can tell which is which, and none pairs.
func pairUp(scope Scope, like likenesses, closing []*redoubt.Finding, unseen []*Sighting) (pairs []pair, _ []*redoubt.Finding, _ []*Sighting) {
	for _, pass := range matchPasses(scope, like) {
		if len(closing) == 0 || len(unseen) == 0 {
			break
		}
		var found []pair
		if pass.guess {
			pass.uncertain = like.uncertain(scope, pairs, closing, unseen)
		}
		found, closing, unseen = matchCandidates(closing, unseen, pass)
		pairs = append(pairs, found...)
	}
	return pairs, closing, unseen
}

// likenesses is what passes ask of findings beside what their rows tell.
type likenesses struct {
	// stands reports whether the rule of a stored finding is known to have its text still.
	stands func(*redoubt.Finding) bool
	// outline is what is told of a match beside its code.
	outline func(*redoubt.Finding) outline
	// owned reports whether an identity is of a lineage already.
	owned func(redoubt.Identity) bool
	// came are sightings of findings that were not counted where they are seen.
	came []*Sighting
}

// matchPass is one way in which findings are alike; from is asked about what a scan
// would close, to about what it sees first.
type matchPass struct {
	from, to keyFunc
	moved    bool
	guess    bool // by the number alone
	// uncertain are keys of which none pairs.
	uncertain map[matchKey]bool
}

// matchPasses lists the passes, surest first: a rule that changed its text (same
// path, rule and code), since under the same text what is around the code differs;
// a report that tells less than the scanner's own id; a secret whose line was edited (same path, rule and
// secret); a match of several lines that was edited within (same formula group,
// first and last line); in a full scan, a file that moved (the path is gone; rule, code and
// pattern are the same, or one side does not tell the pattern); a rule that is
// loaded from another folder, whose name is its name's last part; a report that
// tells less than others of its source do, as Semgrep's JSON where nobody is
// logged in (same rule and path, and the package, or outline, as many on both sides). That
// is a guess, which leaves alone what has a lineage of its own.
func matchPasses(scope Scope, like likenesses) []matchPass {
	stands := like.stands
	code := func(f *redoubt.Finding) (matchKey, bool) {
		return matchKey{rule: f.RuleName, path: f.Path, code: f.CodeHash}, f.CodeHash != (redoubt.Digest{})
	}
	told := func(f *redoubt.Finding) bool { return detailLevel(f) == 2 }
	only := func(by keyFunc, takes func(*redoubt.Finding) bool, want bool) keyFunc {
		return func(f *redoubt.Finding) (matchKey, bool) {
			key, ok := by(f)
			return key, ok && takes(f) == want
		}
	}
	dependency := func(f *redoubt.Finding) (matchKey, bool) {
		return matchKey{rule: f.RuleName, path: f.Path, pkg: f.Package}, f.Package != ""
	}
	edited := func(f *redoubt.Finding) (matchKey, bool) {
		known := f.Identity.Kind == redoubt.IdentitySecret && f.PatternHash != (redoubt.Digest{})
		return matchKey{rule: f.RuleName, path: f.Path, pattern: f.PatternHash}, known
	}
	within := func(f *redoubt.Finding) (matchKey, bool) {
		return matchKey{rule: f.RuleName, path: f.Path, edges: f.EdgeHash}, f.EdgeHash != (redoubt.Digest{}) && f.Identity.Kind == redoubt.IdentityMatchBased
	}
	passes := []matchPass{
		{from: only(code, stands, false), to: code, moved: true},
		{from: only(code, stands, true), to: only(code, told, false), moved: true},
		{from: edited, to: edited, moved: true},
		{from: within, to: within},
	}
	if scope.Full {
		passes = append(passes, movePasses(scope)...)
	}
	passes = append(passes, matchPass{from: only(ruleNameKey, stands, false), to: ruleNameKey, moved: true}, matchPass{from: dependency, to: dependency})
	known, blind := detailKey(1, like.outline), detailKey(0, like.outline)
	return append(passes, matchPass{from: only(known, scope.counted, true), to: blind, guess: true}, matchPass{from: only(blind, scope.counted, true), to: known, guess: true})
}

// uncertain are the keys of which more is seen than their number says: what has a lineage
// of its own, what was not counted there, and what is told in both ways, with code and
// without, on one side.
func (l likenesses) uncertain(scope Scope, pairs []pair, closing []*redoubt.Finding, unseen []*Sighting) map[matchKey]bool {
	out := l.mixed(closing, unseen)
	note := func(s *Sighting) {
		if s.Finding.Package == "" {
			out[numberKey(&s.Finding, outlineOf(s.Result))] = true
		}
	}
	for _, s := range l.came {
		note(s)
	}
	for _, p := range pairs {
		if p.row.Path != p.sighting.Finding.Path || p.row.RuleName != p.sighting.Finding.RuleName || !scope.counted(p.row) {
			note(p.sighting)
		}
	}
	for _, s := range unseen {
		if l.owned(s.Finding.Identity) {
			note(s)
		}
	}
	return out
}

// mixed are the keys of which some tell their code and others do not, among what a scan
// would close or among what it sees first: either number is of a part only.
func (l likenesses) mixed(closing []*redoubt.Finding, unseen []*Sighting) map[matchKey]bool {
	out, told := map[matchKey]bool{}, map[matchKey]bool{}
	note := func(f *redoubt.Finding) {
		if f.Package != "" {
			return
		}
		key, tells := numberKey(f, l.outline(f)), detailLevel(f) > 0
		if before, met := told[key]; met && before != tells {
			out[key] = true
		}
		told[key] = tells
	}
	for _, row := range closing {
		note(row)
	}
	clear(told)
	for _, s := range unseen {
		note(&s.Finding)
	}
	return out
}

// ruleStands reports whether the scan ran the rule of a finding in the very text
// that it was found by: a match of it that is in another formula group now is
// other code around the same call.
func (p *planner) ruleStands(row *redoubt.Finding) bool {
	return detailLevel(row) == 2 && p.served[row.RuleID]
}

// servedRules are those of a report whose text is known, by id.
func servedRules(ids map[*redoubt.Rule]int64) map[int64]bool {
	out := map[int64]bool{}
	for rule, id := range ids {
		if rule.Version > 0 {
			out[id] = true
		}
	}
	return out
}

// movePasses are the passes of files that moved.
func movePasses(scope Scope) []matchPass {
	moved := func(only func(f *redoubt.Finding) bool, pattern bool) keyFunc {
		return func(f *redoubt.Finding) (matchKey, bool) {
			like := matchKey{rule: f.RuleName, code: f.CodeHash}
			if pattern {
				like.pattern = f.PatternHash
			}
			return like, f.CodeHash != (redoubt.Digest{}) && only(f)
		}
	}
	gone := func(f *redoubt.Finding) bool { return scope.isGone(f.Path) }
	every := func(*redoubt.Finding) bool { return true }
	told := func(f *redoubt.Finding) bool { return f.PatternHash != (redoubt.Digest{}) }
	silent := func(f *redoubt.Finding) bool { return !told(f) }
	both := func(a, b func(*redoubt.Finding) bool) func(*redoubt.Finding) bool {
		return func(f *redoubt.Finding) bool { return a(f) && b(f) }
	}
	return []matchPass{
		{from: moved(gone, true), to: moved(every, true), moved: true},
		{from: moved(both(gone, silent), false), to: moved(told, false), moved: true},
		{from: moved(both(gone, told), false), to: moved(silent, false), moved: true},
	}
}

// detailKey is the key of findings of which something is known (1), or of
// whose code nothing is (0). Dependencies have a key of their own. Lines are no
// part: what is put above another one may have its line. What is muted is counted apart,
// for a report may leave it out.
func detailKey(much int, of func(*redoubt.Finding) outline) keyFunc {
	return func(f *redoubt.Finding) (matchKey, bool) {
		if f.Package != "" || min(detailLevel(f), 1) != much {
			return matchKey{}, false
		}
		return numberKey(f, of(f)), true
	}
}

// numberKey is what findings share that are told from one another by their number alone.
func numberKey(f *redoubt.Finding, seen outline) matchKey {
	return matchKey{rule: f.RuleName, path: f.Path, seen: seen, muted: f.State == redoubt.Muted}
}

func (p *planner) likenesses(unseen []*Sighting) likenesses {
	owned := func(id redoubt.Identity) bool { return p.lineages.of(id) != 0 }
	return likenesses{stands: p.ruleStands, outline: p.outlines(unseen), owned: owned, came: p.came}
}

// outlines returns the outlines of the matches that a scan sees first and of those that it
// would close. What is not at hand has one that nothing has which is seen.
func (p *planner) outlines(unseen []*Sighting) func(*redoubt.Finding) outline {
	var told map[*redoubt.Finding]outline
	return func(f *redoubt.Finding) outline {
		if told == nil { // mostly nobody asks
			told = make(map[*redoubt.Finding]outline, len(unseen))
			for _, s := range unseen {
				told[&s.Finding] = outlineOf(s.Result)
			}
		}
		out, known := told[f]
		if known {
			return out
		}
		out = outline{length: -1}
		if body, read := p.bodies[f.ID]; read {
			var err error
			if out, err = storedOutline(f, body); err != nil {
				p.err = fmt.Errorf("the body of finding %d: %w", f.ID, err)
			}
		}
		told[f] = out
		return out
	}
}

// ruleNameKey is the key of findings of a rule, from whichever folder it
// was loaded.
func ruleNameKey(f *redoubt.Finding) (matchKey, bool) {
	return matchKey{rule: lastPart(f.RuleName), path: f.Path, code: f.CodeHash}, f.CodeHash != (redoubt.Digest{})
}

// pairRenamedRules pairs findings that a full scan leaves alone, because it names the
// rules that ran and theirs is not among them, with those of a rule that ran
// and is the same from another folder.
func (s Scope) pairRenamedRules(staying []*redoubt.Finding, unseen []*Sighting) (pairs []pair, _ []*redoubt.Finding, _ []*Sighting) {
	if !s.Full || s.Failed {
		return nil, staying, unseen
	}
	searched := func(f *redoubt.Finding) (matchKey, bool) {
		like, ok := ruleNameKey(f)
		return like, ok && !s.ruleRan(f.RuleName) && s.lookedFor(f)
	}
	return matchCandidates(staying, unseen, matchPass{from: searched, to: ruleNameKey, moved: true})
}

// lastPart is the name of a rule without the folders that it was loaded from.
func lastPart(rule string) string { return rule[strings.LastIndexByte(rule, '.')+1:] }

// candidateGroup is the findings of one key on both sides.
type candidateGroup struct {
	rows      []*redoubt.Finding
	sightings []*Sighting
}

// matchCandidates pairs what is alike in a pass and returns what stays alone.
func matchCandidates(closing []*redoubt.Finding, unseen []*Sighting, by matchPass) (pairs []pair, rows []*redoubt.Finding, sightings []*Sighting) {
	groups := map[matchKey]*candidateGroup{}
	for _, row := range closing {
		like, ok := by.from(row)
		if !ok {
			continue
		}
		if groups[like] == nil {
			groups[like] = &candidateGroup{}
		}
		groups[like].rows = append(groups[like].rows, row)
	}
	for _, s := range unseen {
		like, ok := by.to(&s.Finding)
		if g := groups[like]; ok && g != nil {
			g.sightings = append(g.sightings, s)
		}
	}
	pairedRow, pairedSighting := map[*redoubt.Finding]bool{}, map[*Sighting]bool{}
	for _, row := range closing { // in the order of rows, not of the map
		like, ok := by.from(row)
		if g := groups[like]; ok && g != nil {
			if len(g.rows) == len(g.sightings) && !by.uncertain[like] {
				pairs = append(pairs, g.pairs(by.moved)...)
			}
			delete(groups, like)
		}
	}
	for _, p := range pairs {
		pairedRow[p.row], pairedSighting[p.sighting] = true, true
	}
	rows = slices.DeleteFunc(slices.Clone(closing), func(f *redoubt.Finding) bool { return pairedRow[f] })
	sightings = slices.DeleteFunc(slices.Clone(unseen), func(s *Sighting) bool { return pairedSighting[s] })
	return pairs, rows, sightings
}

func (g *candidateGroup) pairs(moved bool) []pair {
	slices.SortFunc(g.rows, func(a, b *redoubt.Finding) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.ID, b.ID))
	})
	slices.SortStableFunc(g.sightings, func(a, b *Sighting) int {
		return cmp.Or(strings.Compare(a.Finding.Path, b.Finding.Path), cmp.Compare(a.Finding.Line, b.Finding.Line))
	})
	out := make([]pair, len(g.rows))
	for i := range g.rows {
		out[i] = pair{g.rows[i], g.sightings[i], moved}
	}
	return out
}
