package advisory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// Catalogue is an in-memory search index of all vulnerabilities. Each takes a few hundred bytes,
// mostly searchable text. It is immutable and therefore safe for concurrent use.
type Catalogue struct {
	entries    []entry // the newest first
	text       []byte  // lower case: names, packages and summary of each
	ecosystems []string
}

// entry is a vulnerability of a catalog.
type entry struct {
	group      int64
	modified   int64 // microseconds since 1970
	from, to   uint32
	ecosystems uint64 // bit set of Catalogue.ecosystems
	severity   model.Severity
	exploited  bool
	malicious  bool
}

// CatalogueStore provides the contents of a catalog.
type CatalogueStore interface {
	// EachAdvisorySummary calls take with each stored summary.
	EachAdvisorySummary(ctx context.Context, take func(model.AdvisorySummary)) error
	// GroupsWithoutSummary reads groups without a summary and with a greater id than after, by id.
	GroupsWithoutSummary(ctx context.Context, after int64, limit int) ([]model.AdvisoryGroup, error)
	// ExploitedNames returns the CVEs that are known to be exploited.
	ExploitedNames(ctx context.Context) ([]string, error)
}

// NewCatalogue reads all vulnerabilities. It computes missing summaries, which is slower, and does
// not store them.
func NewCatalogue(ctx context.Context, s CatalogueStore) (*Catalogue, error) {
	names, err := s.ExploitedNames(ctx)
	if err != nil {
		return nil, err
	}
	exploited := make(map[string]bool, len(names))
	for _, name := range names {
		exploited[name] = true
	}
	c := &Catalogue{}
	if err := s.EachAdvisorySummary(ctx, func(summary model.AdvisorySummary) { c.add(summary, exploited) }); err != nil {
		return nil, err
	}
	err = missingSummaries(ctx, s, func(summaries []model.AdvisorySummary) error {
		for _, summary := range summaries {
			c.add(summary, exploited)
		}
		return nil
	})
	slices.SortFunc(c.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.modified, a.modified), cmp.Compare(b.group, a.group))
	})
	return c, err
}

func (c *Catalogue) add(summary model.AdvisorySummary, exploited map[string]bool) {
	e := entry{
		group: summary.Group, from: uint32(len(c.text)), severity: summary.Severity, malicious: summary.Malicious,
		exploited: slices.ContainsFunc(summary.Names, func(name string) bool { return exploited[name] }),
	}
	if !summary.Modified.IsZero() {
		e.modified = summary.Modified.UnixMicro()
	}
	for _, part := range [][]string{summary.Names, summary.Packages, {summary.Summary}} {
		for _, word := range part {
			c.text = append(append(c.text, strings.ToLower(word)...), '\n')
		}
	}
	e.to = uint32(len(c.text))
	for _, key := range summary.Packages {
		ecosystem, _, _ := strings.Cut(key, "/")
		e.ecosystems |= 1 << c.ecosystem(ecosystem)
	}
	c.entries = append(c.entries, e)
}

// maxEcosystems is the number of distinguished ecosystems. The last one stands for all others.
const maxEcosystems = 64

// OtherEcosystems is the name for ecosystems above the limit.
const OtherEcosystems = "others"

func (c *Catalogue) ecosystem(name string) int {
	i := slices.Index(c.ecosystems, name)
	switch {
	case i >= 0:
		return i
	case len(c.ecosystems) == maxEcosystems-1:
		name = OtherEcosystems
	case len(c.ecosystems) == maxEcosystems:
		return maxEcosystems - 1
	}
	c.ecosystems = append(c.ecosystems, name)
	return len(c.ecosystems) - 1
}

// Len returns the number of vulnerabilities.
func (c *Catalogue) Len() int { return len(c.entries) }

// Presence counts the findings of a vulnerability in the deployment.
type Presence struct {
	Findings  int // open, counted as in lists: each once, preferably on its primary branch
	Projects  int
	Elsewhere int // additional ones that are open on other branches only
}

// Any reports whether there are open findings on any branch.
func (p Presence) Any() bool { return p.Findings+p.Elsewhere > 0 }

// Search selects vulnerabilities. Zero fields do not filter.
type Search struct {
	Text      string // words, all of which must be in a name, package or summary, case-insensitive
	Ecosystem string // as Ecosystem spells it
	Severity  model.Severity
	Unrated   bool // only vulnerabilities that no database rates
	Exploited bool
	Malicious bool
	Affecting bool // only vulnerabilities with open findings here

	Present map[int64]Presence // by group: findings here, which are listed first
	Skip    int
	Size    int
}

// SearchResult is the result of a Search. Each count is the number of results with that filter
// value, under the other filters.
type SearchResult struct {
	Total      int
	Groups     []int64                // of the page
	Severities map[model.Severity]int // 0 counts unrated ones
	Ecosystems map[string]int
	Exploited  int
	Malicious  int
	Affecting  int
}

// Filters of a search, as bits for the filters that reject a vulnerability.
const (
	failsEcosystem = 1 << iota
	failsSeverity
	failsExploited
	failsMalicious
	failsAffecting
)

// Search returns vulnerabilities with findings here first, ordered by risk, then the others, newest
// first.
func (c *Catalogue) Search(s Search) SearchResult {
	out := SearchResult{Severities: map[model.Severity]int{}, Ecosystems: map[string]int{}}
	var words [][]byte
	for word := range strings.FieldsSeq(strings.ToLower(s.Text)) {
		words = append(words, []byte(word))
	}
	wanted := slices.Index(c.ecosystems, s.Ecosystem)
	perEcosystem := make([]int, len(c.ecosystems))
	var present, others []int
	for i := range c.entries {
		e := &c.entries[i]
		presence, is := s.Present[e.group]
		is = is && presence.Any()
		fails := s.failedFilters(e, wanted, is)
		if fails&(fails-1) != 0 || !c.matchesText(e, words) {
			continue // rejected by two filters or the text, so not in any count
		}
		out.count(e, fails, is, perEcosystem)
		switch {
		case fails != 0:
		case is:
			present = append(present, i)
		default:
			others = append(others, i)
		}
	}
	for i, n := range perEcosystem {
		if n > 0 {
			out.Ecosystems[c.ecosystems[i]] = n
		}
	}
	slices.SortStableFunc(present, func(a, b int) int { return c.riskier(a, b, s.Present) })
	out.Total = len(present) + len(others)
	for _, i := range append(present, others...)[min(s.Skip, out.Total):min(s.Skip+s.Size, out.Total)] {
		out.Groups = append(out.Groups, c.entries[i].group)
	}
	return out
}

func (s *Search) failedFilters(e *entry, ecosystem int, present bool) (fails int) {
	if s.Ecosystem != "" && (ecosystem < 0 || e.ecosystems>>ecosystem&1 == 0) {
		fails |= failsEcosystem
	}
	if s.Severity != 0 && e.severity != s.Severity || s.Unrated && e.severity != 0 {
		fails |= failsSeverity
	}
	if s.Exploited && !e.exploited {
		fails |= failsExploited
	}
	if s.Malicious && !e.malicious {
		fails |= failsMalicious
	}
	if s.Affecting && !present {
		fails |= failsAffecting
	}
	return fails
}

// count adds a vulnerability to all counts, or to those of the only filter that rejects it.
func (f *SearchResult) count(e *entry, fails int, present bool, perEcosystem []int) {
	alone := func(bit int) bool { return fails&^bit == 0 }
	if alone(failsSeverity) {
		f.Severities[e.severity]++
	}
	if alone(failsExploited) && e.exploited {
		f.Exploited++
	}
	if alone(failsMalicious) && e.malicious {
		f.Malicious++
	}
	if alone(failsAffecting) && present {
		f.Affecting++
	}
	for i := range perEcosystem {
		if alone(failsEcosystem) && e.ecosystems>>i&1 == 1 {
			perEcosystem[i]++
		}
	}
}

// matchesText reports whether the text of an entry contains all words.
func (c *Catalogue) matchesText(e *entry, words [][]byte) bool {
	text := c.text[e.from:e.to]
	return !slices.ContainsFunc(words, func(word []byte) bool { return !bytes.Contains(text, word) })
}

func (c *Catalogue) riskier(a, b int, presence map[int64]Presence) int {
	x, y := &c.entries[a], &c.entries[b]
	exploited := func(e *entry) int {
		if e.exploited {
			return 1
		}
		return 0
	}
	severity := func(e *entry) model.Severity { return Rating{Severity: e.severity}.Or() } // as for findings
	return cmp.Or(cmp.Compare(severity(y), severity(x)), cmp.Compare(exploited(y), exploited(x)),
		cmp.Compare(presence[y.group].Projects, presence[x.group].Projects),
		cmp.Compare(presence[y.group].Findings, presence[x.group].Findings))
}

// Exploited returns the groups of a set that are known to be exploited.
func (c *Catalogue) Exploited(groups []int64) map[int64]bool {
	wanted := make(map[int64]bool, len(groups))
	for _, id := range groups {
		wanted[id] = true
	}
	out := map[int64]bool{}
	for i := range c.entries {
		if e := &c.entries[i]; e.exploited && wanted[e.group] {
			out[e.group] = true
		}
	}
	return out
}
