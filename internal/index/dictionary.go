package index

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// memberOf returns a function that encodes a word as a JSON member with a trailing comma.
func memberOf(name string) func(word string) string {
	return func(word string) string {
		value, _ := appendJSON(nil, word) // encoding a string cannot fail
		return `"` + name + `":` + string(value) + `,`
	}
}

// table numbers entries with IDs, starting at 1. Entries are replaced and never modified, so a page
// may use them without a lock.
type table[T any] struct {
	numbers map[int64]uint32
	ids     []int64 // by number
	entries []*T    // by number; nil for 0 and for free numbers
	free    []uint32
}

// put stores the entry of an ID. It returns the entry's number and the replaced entry, if any.
func (t *table[T]) put(id int64, entry *T) (n uint32, old *T) {
	n, ok := t.numbers[id]
	if !ok {
		n = t.allocate()
		t.numbers[id], t.ids[n] = n, id
	}
	old, t.entries[n] = t.entries[n], entry
	return n, old
}

func (t *table[T]) allocate() uint32 {
	if t.numbers == nil {
		t.numbers, t.ids, t.entries = map[int64]uint32{}, make([]int64, 1), make([]*T, 1)
	}
	if last := len(t.free) - 1; last >= 0 {
		n := t.free[last]
		t.free = t.free[:last]
		return n
	}
	t.ids, t.entries = append(t.ids, 0), append(t.entries, nil)
	return uint32(len(t.entries) - 1)
}

// remove removes an entry. No references to its number may remain.
func (t *table[T]) remove(n uint32) {
	delete(t.numbers, t.ids[n])
	t.ids[n], t.entries[n] = 0, nil
	t.free = append(t.free, n)
}

// project contains the properties of a project that its findings use.
type project struct {
	name       string
	folded     string   // name in lower case
	oldNames   []string // former names in lower case
	tags       []string // in lower case
	visibility model.Visibility
	primary    string // ref
	primaryRef uint32
	scoped     model.Project // for matching policy scopes
	audience   uint32        // number of the audience
	wire       []byte        // the member repository
	bare       bool          // whether the repository has no URL
}

func newProject(p *model.Project) (*project, error) {
	wire, err := appendMember(nil, "repository", struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	}{p.Name, p.URL})
	if err != nil {
		return nil, err
	}
	out := &project{
		name: p.Name, folded: strings.ToLower(p.Name),
		visibility: p.Visibility, primary: p.Primary(), wire: append(wire, ','),
		scoped: model.Project{ID: p.ID, Name: p.Name, Tags: p.Tags}, bare: p.URL == "",
	}
	out.tags, out.oldNames = lowerCase(p.Tags), lowerCase(p.OldNames)
	return out, nil
}

// rule contains the properties of one version of a rule that its findings use.
type rule struct {
	name       string
	product    model.IssueType
	category   []string
	rulesets   []string
	wire       []byte // categories, rule_name and rule; without the closing brace if open
	hosted     []byte // the same in the hosted dialect
	template   []byte // the message as JSON; nil if unknown
	open       bool   // no message is known: the finding's message completes wire
	searchText string // searched part of the message, in lower case

	stances []stance // by audience
}

func newRule(r *model.Rule) (*rule, error) {
	wire, err := r.Members()
	if err != nil {
		return nil, err
	}
	out := &rule{
		name:       r.Name,
		product:    r.IssueType,
		category:   r.Categories(),
		rulesets:   r.Rulesets,
		open:       r.Message == "",
		searchText: searchable(r.Message),
	}
	if !out.open {
		if out.template, err = appendJSON(nil, r.Message); err != nil {
			return nil, err
		}
		wire = append(append(wire, out.template...), "}}"...)
	}
	out.wire, out.hosted = wire, inHosted(wire)
	return out, nil
}

// policy is a policy with its prepared parts of findings.
type policy struct {
	model.Policy
	wire       []byte // the member sourcing_policy
	conditions []*condition
}

// policyRule is a policy's mode for a rule.
type policyRule struct {
	policy int64
	mode   model.PolicyMode
}

func newPolicy(p *model.Policy) (*policy, error) {
	wire, err := appendMember(nil, "sourcing_policy", struct {
		ID   int64  `json:"id"`
		Name string `json:"name"`
		Slug string `json:"slug"`
	}{p.ID, p.Name, p.Slug})
	out := &policy{Policy: *p, wire: append(wire, ',')}
	out.conditions = newConditions(out)
	return out, err
}

// appendMember appends "name":value.
func appendMember(b []byte, name string, value any) ([]byte, error) {
	b = strconv.AppendQuote(b, name)
	return appendJSON(append(b, ':'), value)
}

// appendJSON appends a value as JSON without HTML escapes.
func appendJSON(b []byte, value any) ([]byte, error) {
	var buf strings.Builder
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return append(b, strings.TrimSuffix(buf.String(), "\n")...), nil
}
