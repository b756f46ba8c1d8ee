package index

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/redoubt/redoubt/internal/model"
)

// snapshot is what a checkpoint is written from: a state at one moment. It holds
// the bitmaps, and eight bytes a lineage twice; of the rest it refers to what nobody
// changes, or to rows that are frozen.
type snapshot struct {
	deployment, version int64
	findings            int

	words      []wordList
	lexicons   []lexiconList
	untils     []int64
	projects   table[project]
	rules      table[rule]
	lineages   table[lineage]
	policies   []model.Policy
	stances    []byte // packed rules of policies
	partitions []*partition
	frozen     []*frozenRows
	bitmaps    [][]byte
}

type wordList struct {
	name  string
	words *interner
	texts []string
}

// wordLists names the dictionaries of words of a state.
func (s *state) wordLists() []wordList {
	lists := []wordList{
		{name: "refs", words: &s.refs},
		{name: "packages", words: &s.packages},
		{name: "vulnerabilities", words: &s.vulns},
		{name: "secrets", words: &s.secrets},
		{name: "tags", words: &s.tags},
		{name: "assignees", words: &s.assignees},
	}
	for i := range lists {
		lists[i].texts = lists[i].words.list()
	}
	return lists
}

// lexiconList is a lexicon with what was in it at a moment.
type lexiconList struct {
	name string
	of   *lexicon
	then lexicon
}

// lexicons names the lexicons of a state, those first whose numbers others hold.
func (s *state) lexicons() []lexiconList {
	parts, lists := s.says.tables()
	return []lexiconList{
		{"paths", &s.paths, s.paths},
		{"parts of messages", parts, *parts},
		{"messages", lists, *lists},
	}
}

// snapshot takes down what a published state holds. Whoever calls it has the turn,
// which keeps others from changing the state; readers go on.
func (s *state) snapshot(deployment int64) (*snapshot, error) {
	out := &snapshot{
		deployment: deployment, version: s.version, words: s.wordLists(), lexicons: s.lexicons(), untils: s.untils.at,
		projects: s.projects.copied(), rules: s.rules.copied(), lineages: s.lineages.copied(),
	}
	for _, id := range slices.Sorted(maps.Keys(s.policies)) {
		out.policies = append(out.policies, s.policies[id].Policy)
	}
	out.stances = s.packPolicyRules()
	for _, p := range s.parts {
		b, err := p.packBitmaps()
		if err != nil {
			return nil, err
		}
		out.findings += len(p.where)
		out.bitmaps = append(out.bitmaps, b)
		out.partitions = append(out.partitions, p)
	}
	for _, p := range s.parts {
		out.frozen = append(out.frozen, p.freeze())
	}
	return out, nil
}

// copied returns what is needed to write a table, which may change meanwhile.
func (t *table[T]) copied() table[T] {
	return table[T]{ids: slices.Clone(t.ids), entries: slices.Clone(t.entries)}
}

func (s *state) packPolicyRules() []byte {
	var p packer
	p.count(len(s.policyRules))
	for _, name := range slices.Sorted(maps.Keys(s.policyRules)) {
		of := s.policyRules[name]
		p.text(name)
		p.count(len(of))
		for _, id := range slices.Sorted(maps.Keys(of)) {
			p.int(id)
			p.int(of[id].policy)
			p.uint(uint64(of[id].mode))
		}
	}
	return p.packed()
}

// packBitmaps writes each bitmap in the format that all implementations of Roaring
// share.
func (p *partition) packBitmaps() ([]byte, error) {
	var out packer
	var buf bytes.Buffer
	add := func(b io.WriterTo) error {
		buf.Reset()
		_, err := b.WriteTo(&buf)
		out.bytes(buf.Bytes())
		return err
	}
	if err := add(p.listed); err != nil {
		return nil, err
	}
	for _, of := range p.values {
		out.count(len(of))
		for _, b := range of {
			if b == nil || b.IsEmpty() {
				out.bytes(nil)
			} else if err := add(b); err != nil {
				return nil, err
			}
		}
	}
	return out.packed(), nil
}

// errSpoiled ends a checkpoint during which nearly all changed.
var errSpoiled = errors.New("too much changed while it was written")

// write writes a checkpoint. The lock is that of the rows.
func (n *snapshot) write(ctx context.Context, to io.Writer, id string, lock *sync.RWMutex) error {
	w := newSectionWriter(to)
	for _, list := range n.words {
		w.words("words/"+list.name, list.texts)
	}
	for _, list := range n.lexicons {
		ends, texts := list.then.contents()
		w.texts("words/"+list.name, ends, texts)
	}
	w.section("untils", raw(n.untils))
	policies, err := json.Marshal(n.policies)
	if err != nil {
		return err
	}
	w.section("policies", policies)
	w.section("policy rules", n.stances)
	w.section("project ids", raw(n.projects.ids))
	w.section("projects", packProjects(n.projects.entries))
	w.section("rule ids", raw(n.rules.ids))
	w.section("rules", packRules(n.rules.entries))
	w.section("lineage ids", raw(n.lineages.ids))
	writeLineages(w, n.lineages.entries)
	for i, p := range n.partitions {
		w.section("bitmaps/"+strconv.Itoa(i), n.bitmaps[i])
		n.bitmaps[i] = nil
		w.begin("rows/" + strconv.Itoa(i))
		if err := writeRows(ctx, w, p, n.frozen[i], lock); err != nil {
			return err
		}
	}
	return w.finish(heading{layout: layoutSum(), deployment: n.deployment, version: n.version, id: id, findings: int64(n.findings)})
}

func writeRows(ctx context.Context, w *sectionWriter, p *partition, z *frozenRows, lock *sync.RWMutex) error {
	buf := make([]row, 0, min(frozenChunk, z.count))
	for {
		lock.RLock()
		chunk, spoiled := z.take(p, buf), z.spoiled
		lock.RUnlock()
		if spoiled {
			return errSpoiled
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if len(chunk) == 0 || w.Err() != nil {
			return w.Err()
		}
		for i := range chunk {
			chunk[i].next, chunk[i].body = 0, bodyRef{} // found again, and read again
		}
		w.write(raw(chunk))
	}
}

// writeLineages writes those that are not as all are at first.
func writeLineages(w *sectionWriter, entries []*lineage) {
	w.begin("lineages")
	var p packer
	last := 0
	for n, l := range entries {
		if l == nil || l == untriagedLineage {
			continue
		}
		p.count(n - last)
		last = n
		l.pack(&p)
		w.flush(&p, pieceBytes)
	}
	p.count(0) // no other one follows
	w.flush(&p, 0)
}

func (l *lineage) pack(p *packer) {
	p.uint(uint64(l.triage))
	p.uint(uint64(l.reason))
	p.int(l.triagedAt)
	p.uint(uint64(l.verdict))
	p.uint(uint64(l.band))
	p.uint(uint64(l.score))
	p.bool(l.exploited)
	p.uint(uint64(l.reach))
	p.uint(uint64(l.prs))
	p.text(l.tag)
	p.text(l.assignee)
	p.int(l.until)
	p.text(string(l.stops))
	p.bool(l.note != nil)
	if l.note == nil {
		return
	}
	p.bytes(l.note.common)
	same := bytes.Equal(l.note.common, l.note.hosted)
	if p.bool(same); !same {
		p.bytes(l.note.hosted)
	}
	p.bytes(l.note.code)
	p.bytes(l.note.supply)
}

func packProjects(entries []*project) []byte {
	var p packer
	for _, e := range entries {
		if p.bool(e != nil); e == nil {
			continue
		}
		p.text(e.name)
		p.texts(e.scoped.Tags)
		p.texts(e.oldNames)
		p.uint(uint64(e.visibility))
		p.text(e.primary)
		p.bytes(e.wire)
	}
	return p.packed()
}

func packRules(entries []*rule) []byte {
	var p packer
	for _, e := range entries {
		if p.bool(e != nil); e == nil {
			continue
		}
		p.text(e.name)
		p.uint(uint64(e.product))
		p.texts(e.category)
		p.texts(e.rulesets)
		p.bytes(e.wire)
		p.bytes(e.hosted)
		p.bytes(e.template)
		p.bool(e.open)
		p.text(e.said)
	}
	return p.packed()
}
