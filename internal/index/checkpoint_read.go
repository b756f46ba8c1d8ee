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

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/index/checkpoint"
	"github.com/redoubt/redoubt/internal/model"
)

// errLayout reports a checkpoint of another version of the program.
var errLayout = errors.New("another version of Redoubt wrote it")

// readState returns the state in a checkpoint. It validates all data and returns an error for
// inconsistencies.
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
	if !s.messages.Fit() {
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

// parallel runs steps concurrently.
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

// wait waits for all steps and returns their joined errors.
func (p *parallel) wait() error {
	p.group.Wait()
	return errors.Join(p.errs...)
}

// readSmall reads the sections whose size is that of dictionaries. Words must be read before.
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

// readTable reads a small table with its entries in the order of their numbers.
func readTable[T any](
	r *checkpoint.Reader, ids, entries string, t *table[T], unpack func(*checkpoint.Unpacker) *T,
) (err error) {
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

// renumber fills the map of numbers and the list of free numbers.
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
		wire: u.Bytes(), hosted: u.Bytes(), template: u.Bytes(), open: u.Bool(), searchText: u.Text(),
	}
}

// readWords reads a dictionary into an empty one.
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

// readLineages reads the lineages. Those without an entry are untriaged.
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
	l := &lineage{
		triage:    model.TriageState(u.Byte()),
		reason:    model.TriageReason(u.Byte()),
		triagedAt: u.Int(),
		verdict:   model.Verdict(u.Byte()),
		band:      model.EPSSBand(u.Byte()),
	}
	l.score = uint32(u.Below(scoreUnits + 2))
	l.exploited, l.reach, l.prs = u.Bool(), model.Reachability(u.Byte()), u.Byte()
	l.tag, l.assignee, l.until, l.stops = u.Text(), u.Text(), u.Int(), model.ClockPauses(u.Text())
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

// readBitmaps reads the bitmaps of a partition.
func (p *partition) readBitmaps(r *checkpoint.Reader, part int) error {
	name := "bitmaps/" + strconv.Itoa(part)
	b, err := r.Section(name)
	if err != nil {
		return err
	}
	u := checkpoint.NewUnpacker(b)
	p.listed = u.Bitmap()
	if p.listed == nil {
		u.Fail()
	}
	for f := range fields {
		p.values[f] = make([]*roaring.Bitmap, u.Count())
		for v := range p.values[f] {
			p.values[f][v] = u.Bitmap()
		}
	}
	if err := u.End(); err != nil {
		return fmt.Errorf("its %s: %w", name, err)
	}
	return nil
}

// restore derives the data that a checkpoint does not contain, and validates rows against the
// dictionaries.
func (p *partition) restore(s *state) error {
	p.empty = false
	if err := p.checkBitmaps(s); err != nil {
		return err
	}
	p.where = make(map[uint32]uint32, int(p.listed.GetCardinality()))
	p.heads = make([]uint32, len(s.lineages.entries))
	next := uint32(0)
	for batch := range batches(p.listed) {
		for _, ordinal := range batch {
			p.forget(next, ordinal)
			next = ordinal + 1
			r := &p.rows[ordinal]
			if !s.hasValidReferences(r) || ordinal > 0 && r.before(&p.rows[ordinal-1]) {
				return checkpoint.ErrPacked
			}
			p.where[r.id] = ordinal
			r.next, p.heads[r.lineage] = p.heads[r.lineage], ordinal+1
			r.body = bodyRef{}
		}
	}
	p.forget(next, uint32(len(p.rows)))
	if len(p.where) != int(p.listed.GetCardinality()) {
		return checkpoint.ErrPacked
	}
	p.columns.fill(p.rows)
	return nil
}

// forget clears dead rows except for the values by which rows are sorted.
func (p *partition) forget(from, to uint32) {
	for i := from; i < to; i++ {
		p.rows[i] = row{relevant: p.rows[i].relevant, id: p.rows[i].id}
	}
}

// hasValidReferences reports whether all references of a row are valid.
func (s *state) hasValidReferences(r *row) bool {
	known := func(n uint32, all int) bool { return int(n) < max(all, 1) }
	if !known(r.lineage, len(s.lineages.entries)) || !known(r.project, len(s.projects.entries)) ||
		!known(r.rule, len(s.rules.entries)) || r.lineage == 0 || r.project == 0 || r.rule == 0 {
		return false
	}
	l := s.lineages.entries[r.lineage]
	if l == nil || s.projects.entries[r.project] == nil || s.rules.entries[r.rule] == nil ||
		(l.note != nil) != (r.annotated == flagYes) {
		return false
	}
	return known(r.ref, s.refs.Count()) && known(r.pkg, s.packages.Count()) && known(r.secret, s.secrets.Count()) &&
		known(r.path, s.paths.Count()) && known(r.vuln, s.vulns.Count()) && known(r.says, s.messages.Count()) &&
		known(r.tag, s.tags.Count()) && known(r.assignee, s.assignees.Count()) &&
		int(r.until) <= len(s.untils.at) && r.began <= lastDay
}

// checkBitmaps returns an error if a bitmap belongs to an unknown value or contains unlisted rows.
func (p *partition) checkBitmaps(s *state) error {
	if !p.listed.IsEmpty() && int(p.listed.Maximum()) >= len(p.rows) {
		return checkpoint.ErrPacked
	}
	most := map[field]int{
		byProject: len(s.projects.entries), byRule: len(s.rules.entries),
		byRef: s.refs.Count(), byTag: s.tags.Count(), byPackage: s.packages.Count(),
		bySecretType: s.secrets.Count(), byAssignee: s.assignees.Count(),
		byUntil: len(s.untils.at) + 1, byClosedDay: lastDay + 1, byClockDay: lastDay + 1,
	}
	for f := range fields {
		limit, many := most[f]
		if !many {
			limit = 256
		}
		if len(p.values[f]) > max(limit, 1) {
			return checkpoint.ErrPacked
		}
		for v, b := range p.values[f] {
			if b != nil && (v == 0 || b.AndCardinality(p.listed) != b.GetCardinality()) {
				return checkpoint.ErrPacked
			}
		}
	}
	return nil
}

// fill fills empty columns from the rows.
func (c *columns) fill(rows []row) {
	for f := range columned {
		for i := range rows {
			if v := rows[i].column(f); v != 0 {
				if c[f] == nil {
					c[f] = make([]uint32, len(rows))
				}
				c[f][i] = v
			}
		}
	}
}
