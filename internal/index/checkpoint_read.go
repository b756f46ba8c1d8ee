package index

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redoubt/redoubt/internal/index/checkpoint"
	"github.com/redoubt/redoubt/internal/model"
)

// errLayout says that a checkpoint is another program's.
var errLayout = errors.New("another version of Redoubt wrote it")

// readState reads the state that a checkpoint holds. It believes nothing: what does
// not fit together is an error, and no state.
func readState(r *checkpoint.Reader, b *budget, clock func() time.Time) (*state, error) {
	if r.Layout != layoutSum() {
		return nil, errLayout
	}
	s := newState(b, clock)
	s.version = r.Version
	var steps parallel
	for _, list := range s.wordLists() {
		steps.do(func() error { return readWords(r, "words/"+list.name, list.words) })
	}
	for _, list := range s.lexicons() {
		steps.do(func() error { return readWords(r, "words/"+list.name, list.of) })
	}
	steps.do(func() error { return s.readLineages(r) })
	for i, p := range s.parts {
		steps.do(func() (err error) {
			p.rows, err = checkpoint.ReadRaw[row](r, "rows/"+strconv.Itoa(i))
			return err
		})
		steps.do(func() error { return p.readBitmaps(r, i) })
	}
	if err := steps.wait(); err != nil {
		return nil, err
	}
	if !s.says.Fit() {
		return nil, fmt.Errorf("its messages: %w", checkpoint.ErrPacked)
	}
	if err := s.readSmall(r); err != nil {
		return nil, err
	}
	for _, p := range s.parts {
		steps.do(func() error { return p.restore(s) })
	}
	if err := steps.wait(); err != nil {
		return nil, err
	}
	return s, nil
}

// parallel runs steps side by side.
type parallel struct {
	group sync.WaitGroup
	mu    sync.Mutex
	errs  []error
}

func (p *parallel) do(step func() error) {
	p.group.Go(func() {
		if err := step(); err != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.errs = append(p.errs, err)
		}
	})
}

// wait returns what went wrong, once all steps have ended.
func (p *parallel) wait() error {
	p.group.Wait()
	return errors.Join(p.errs...)
}

// readSmall reads what is of the size of dictionaries, which the words are read before.
func (s *state) readSmall(r *checkpoint.Reader) error {
	untils, err := checkpoint.ReadRaw[int64](r, "untils")
	if err != nil {
		return err
	}
	for i, at := range untils {
		if at == 0 || s.untils.number(at) != uint32(i+1) {
			return checkpoint.ErrPacked
		}
	}
	text, err := r.Section("policies")
	if err != nil {
		return err
	}
	var policies []model.Policy
	if err := json.Unmarshal(text, &policies); err != nil {
		return fmt.Errorf("its policies: %w", err)
	}
	for i := range policies {
		if s.policies[policies[i].ID], err = newPolicy(&policies[i]); err != nil {
			return err
		}
	}
	if err := s.readPolicyRules(r); err != nil {
		return err
	}
	if err := readTable(r, "rule ids", "rules", &s.rules, unpackRule); err != nil {
		return err
	}
	for n, e := range s.rules.entries {
		if e != nil {
			s.rulesByName[e.name] = append(s.rulesByName[e.name], uint32(n))
		}
	}
	if err := readTable(r, "project ids", "projects", &s.projects, unpackProject); err != nil {
		return err
	}
	for n, e := range s.projects.entries {
		if e != nil {
			e.scoped.ID = s.projects.ids[n]
			e.primaryRef = s.refs.Number(e.primary)
		}
	}
	s.gatherAudiences()
	return nil
}

func (s *state) readPolicyRules(r *checkpoint.Reader) error {
	b, err := r.Section("policy rules")
	if err != nil {
		return err
	}
	u := checkpoint.NewUnpacker(b)
	for range u.Count() {
		name, of := u.Text(), map[int64]policyRule{}
		for range u.Count() {
			id := u.Int()
			of[id] = policyRule{policy: u.Int(), mode: model.PolicyMode(u.Byte())}
			if s.policies[of[id].policy] == nil {
				u.Fail()
			}
		}
		s.policyRules[name] = of
	}
	return u.End()
}

// readTable reads a small table, and its entries by number.
func readTable[T any](r *checkpoint.Reader, ids, entries string, t *table[T], unpack func(*checkpoint.Unpacker) *T) (err error) {
	if t.ids, err = checkpoint.ReadRaw[int64](r, ids); err != nil {
		return err
	}
	b, err := r.Section(entries)
	if err != nil {
		return err
	}
	u := checkpoint.NewUnpacker(b)
	t.entries = make([]*T, len(t.ids))
	for n := range t.entries {
		if u.Bool() {
			t.entries[n] = unpack(u)
		}
	}
	if err := u.End(); err != nil {
		return fmt.Errorf("its %s: %w", entries, err)
	}
	return t.renumber()
}

// renumber finds the numbers of ids, and what is free.
func (t *table[T]) renumber() error {
	if len(t.ids) == 0 {
		t.ids, t.entries = nil, nil
		return nil
	}
	t.numbers = make(map[int64]uint32, len(t.ids))
	for n, id := range t.ids {
		switch {
		case id == 0 != (t.entries[n] == nil), n == 0 && id != 0:
			return checkpoint.ErrPacked
		case id != 0:
			t.numbers[id] = uint32(n)
		case n > 0:
			t.free = append(t.free, uint32(n))
		}
	}
	if len(t.numbers)+len(t.free)+1 != len(t.ids) {
		return checkpoint.ErrPacked
	}
	return nil
}

func unpackProject(u *checkpoint.Unpacker) *project {
	e := &project{name: u.Text()}
	e.folded = strings.ToLower(e.name)
	e.scoped = model.Project{Name: e.name, Tags: u.Texts()}
	e.tags, e.oldNames = lowerCase(e.scoped.Tags), u.Texts()
	e.visibility, e.primary, e.wire = model.Visibility(u.Byte()), u.Text(), u.Bytes()
	e.bare = bytes.HasSuffix(e.wire, []byte(noAddress))
	return e
}

func unpackRule(u *checkpoint.Unpacker) *rule {
	return &rule{
		name: u.Text(), product: model.IssueType(u.Byte()), category: u.Texts(), rulesets: u.Texts(),
		wire: u.Bytes(), hosted: u.Bytes(), template: u.Bytes(), open: u.Bool(), said: u.Text(),
	}
}

// readWords reads a dictionary that has no word yet.
func readWords(r *checkpoint.Reader, name string, w interface{ Fill([]uint64, []byte) bool }) error {
	ends, texts, err := r.Texts(name)
	if err != nil {
		return err
	}
	if !w.Fill(ends, texts) {
		return fmt.Errorf("its %s: %w", name, checkpoint.ErrPacked)
	}
	return nil
}

// readLineages reads the lineages, of which most are the same.
func (s *state) readLineages(r *checkpoint.Reader) error {
	ids, err := checkpoint.ReadRaw[int64](r, "lineage ids")
	if err != nil {
		return err
	}
	t := &s.lineages
	t.ids, t.entries = ids, make([]*lineage, len(ids))
	for n, id := range ids {
		if id != 0 {
			t.entries[n] = untriagedLineage
		}
	}
	if err := t.renumber(); err != nil {
		return fmt.Errorf("its lineages: %w", err)
	}
	b, err := r.Section("lineages")
	if err != nil {
		return err
	}
	u := checkpoint.NewUnpacker(b)
	for n := u.Below(len(ids) + 1); n != 0 && u.Err() == nil; {
		if n >= len(ids) || ids[n] == 0 {
			return fmt.Errorf("its lineages: %w", checkpoint.ErrPacked)
		}
		t.entries[n] = unpackLineage(u)
		step := u.Below(len(ids))
		if step == 0 {
			break
		}
		n += step
	}
	if err := u.End(); err != nil {
		return fmt.Errorf("its lineages: %w", err)
	}
	return nil
}

func unpackLineage(u *checkpoint.Unpacker) *lineage {
	l := &lineage{triage: model.TriageState(u.Byte()), reason: model.TriageReason(u.Byte()), triagedAt: u.Int(), verdict: model.Verdict(u.Byte()), band: model.EPSSBand(u.Byte())}
	l.score = uint32(u.Below(scoreUnits + 2))
	l.exploited, l.reach, l.prs = u.Bool(), model.Reachability(u.Byte()), u.Byte()
	l.tag, l.assignee, l.until, l.stops = u.Text(), u.Text(), u.Int(), model.Stops(u.Text())
	if !u.Bool() {
		return l
	}
	l.note = &lineageJSON{common: u.Bytes()}
	l.note.hosted = l.note.common
	if !u.Bool() {
		l.note.hosted = u.Bytes()
	}
	l.note.code, l.note.supply = u.Bytes(), u.Bytes()
	return l
}
