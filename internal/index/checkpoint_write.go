package index

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redoubt/redoubt/internal/index/checkpoint"
	"github.com/redoubt/redoubt/internal/index/lexicon"
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
	words *lexicon.Words
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
		lists[i].texts = lists[i].words.List()
	}
	return lists
}

// lexiconList is a lexicon with what was in it at a moment.
type lexiconList struct {
	name string
	of   *lexicon.Texts
	then lexicon.Texts
}

// lexicons names the lexicons of a state, those first whose numbers others hold.
func (s *state) lexicons() []lexiconList {
	parts, lists := s.says.Tables()
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
	var p checkpoint.Packer
	p.Count(len(s.policyRules))
	for _, name := range slices.Sorted(maps.Keys(s.policyRules)) {
		of := s.policyRules[name]
		p.Text(name)
		p.Count(len(of))
		for _, id := range slices.Sorted(maps.Keys(of)) {
			p.Int(id)
			p.Int(of[id].policy)
			p.Uint(uint64(of[id].mode))
		}
	}
	return p.Packed()
}

// packBitmaps writes each bitmap in the format that all implementations of Roaring
// share.
func (p *partition) packBitmaps() ([]byte, error) {
	var out checkpoint.Packer
	var buf bytes.Buffer
	add := func(b io.WriterTo) error {
		buf.Reset()
		_, err := b.WriteTo(&buf)
		out.Bytes(buf.Bytes())
		return err
	}
	if err := add(p.listed); err != nil {
		return nil, err
	}
	for _, of := range p.values {
		out.Count(len(of))
		for _, b := range of {
			if b == nil || b.IsEmpty() {
				out.Bytes(nil)
			} else if err := add(b); err != nil {
				return nil, err
			}
		}
	}
	return out.Packed(), nil
}

// errSpoiled ends a checkpoint during which nearly all changed.
var errSpoiled = errors.New("too much changed while it was written")

// write writes a checkpoint. The lock is that of the rows.
func (n *snapshot) write(ctx context.Context, to io.Writer, id string, lock *sync.RWMutex) error {
	w := checkpoint.NewWriter(to)
	for _, list := range n.words {
		w.Words("words/"+list.name, list.texts)
	}
	for _, list := range n.lexicons {
		ends, texts := list.then.Contents()
		w.Texts("words/"+list.name, ends, texts)
	}
	w.Section("untils", checkpoint.Raw(n.untils))
	policies, err := json.Marshal(n.policies)
	if err != nil {
		return err
	}
	w.Section("policies", policies)
	w.Section("policy rules", n.stances)
	w.Section("project ids", checkpoint.Raw(n.projects.ids))
	w.Section("projects", packProjects(n.projects.entries))
	w.Section("rule ids", checkpoint.Raw(n.rules.ids))
	w.Section("rules", packRules(n.rules.entries))
	w.Section("lineage ids", checkpoint.Raw(n.lineages.ids))
	writeLineages(w, n.lineages.entries)
	for i, p := range n.partitions {
		w.Section("bitmaps/"+strconv.Itoa(i), n.bitmaps[i])
		n.bitmaps[i] = nil
		w.Begin("rows/" + strconv.Itoa(i))
		if err := writeRows(ctx, w, p, n.frozen[i], lock); err != nil {
			return err
		}
	}
	return w.Finish(checkpoint.Heading{
		Layout:     layoutSum(),
		Deployment: n.deployment,
		Version:    n.version,
		ID:         id,
		Findings:   int64(n.findings),
	})
}

func writeRows(ctx context.Context, w *checkpoint.Writer, p *partition, z *frozenRows, lock *sync.RWMutex) error {
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
		w.Append(checkpoint.Raw(chunk))
	}
}

// writeLineages writes those that are not as all are at first.
func writeLineages(w *checkpoint.Writer, entries []*lineage) {
	w.Begin("lineages")
	var p checkpoint.Packer
	last := 0
	for n, l := range entries {
		if l == nil || l == untriagedLineage {
			continue
		}
		p.Count(n - last)
		last = n
		l.pack(&p)
		w.Flush(&p, checkpoint.PieceBytes)
	}
	p.Count(0) // no other one follows
	w.Flush(&p, 0)
}

func (l *lineage) pack(p *checkpoint.Packer) {
	p.Uint(uint64(l.triage))
	p.Uint(uint64(l.reason))
	p.Int(l.triagedAt)
	p.Uint(uint64(l.verdict))
	p.Uint(uint64(l.band))
	p.Uint(uint64(l.score))
	p.Bool(l.exploited)
	p.Uint(uint64(l.reach))
	p.Uint(uint64(l.prs))
	p.Text(l.tag)
	p.Text(l.assignee)
	p.Int(l.until)
	p.Text(string(l.stops))
	p.Bool(l.note != nil)
	if l.note == nil {
		return
	}
	p.Bytes(l.note.common)
	same := bytes.Equal(l.note.common, l.note.hosted)
	if p.Bool(same); !same {
		p.Bytes(l.note.hosted)
	}
	p.Bytes(l.note.code)
	p.Bytes(l.note.supply)
}

func packProjects(entries []*project) []byte {
	var p checkpoint.Packer
	for _, e := range entries {
		if p.Bool(e != nil); e == nil {
			continue
		}
		p.Text(e.name)
		p.Texts(e.scoped.Tags)
		p.Texts(e.oldNames)
		p.Uint(uint64(e.visibility))
		p.Text(e.primary)
		p.Bytes(e.wire)
	}
	return p.Packed()
}

func packRules(entries []*rule) []byte {
	var p checkpoint.Packer
	for _, e := range entries {
		if p.Bool(e != nil); e == nil {
			continue
		}
		p.Text(e.name)
		p.Uint(uint64(e.product))
		p.Texts(e.category)
		p.Texts(e.rulesets)
		p.Bytes(e.wire)
		p.Bytes(e.hosted)
		p.Bytes(e.template)
		p.Bool(e.open)
		p.Text(e.said)
	}
	return p.Packed()
}

// Rows are most of an index. A checkpoint writes them a chunk at a time, each under
// the lock that readers share, for as long as it takes to copy it; a chunk that is
// about to change before it was written is copied first. So nothing waits for a
// disk, and only what changes meanwhile is in memory twice.

const (
	frozenChunk = 4096 // rows; some half a megabyte
	maxKept     = 256  // chunks that may wait; more, and the checkpoint is given up
)

// frozenRows are the rows of a partition as they were when a checkpoint began. What
// hangs a lineage's rows together may be newer: it is found again from the rest.
type frozenRows struct {
	count   int           // rows that there were
	next    int           // the chunk to write next
	kept    map[int][]row // by chunk, as they were
	spoiled bool          // too many changed
}

// freeze has the rows stay as they are, for take. Whoever calls it has the turn.
func (p *partition) freeze() *frozenRows {
	p.frozen = &frozenRows{count: len(p.rows), kept: map[int][]row{}}
	return p.frozen
}

// keep must be called before a row changes that readers can see.
func (p *partition) keep(ordinal uint32) {
	z := p.frozen
	if z == nil || z.spoiled || int(ordinal) >= z.count {
		return
	}
	chunk := int(ordinal) / frozenChunk
	if _, kept := z.kept[chunk]; kept || chunk < z.next {
		return
	}
	if len(z.kept) == maxKept {
		z.spoiled, z.kept = true, nil
		return
	}
	from, to := z.span(chunk)
	z.kept[chunk] = slices.Clone(p.rows[from:to])
}

func (z *frozenRows) span(chunk int) (from, to int) {
	return chunk * frozenChunk, min((chunk+1)*frozenChunk, z.count)
}

// take returns the next chunk, in buf if it has to be copied, and nothing behind the
// last one. Whoever changes rows must be kept out meanwhile.
func (z *frozenRows) take(p *partition, buf []row) []row {
	from, to := z.span(z.next)
	if from >= to || z.spoiled {
		return nil
	}
	chunk, kept := z.kept[z.next]
	if !kept {
		chunk = buf[:copy(buf[:cap(buf)], p.rows[from:to])]
	}
	delete(z.kept, z.next)
	z.next++
	return chunk
}

// checkpointFormat is the meaning of what is in a checkpoint, as far as its layout
// does not tell: raise it with whatever changes what an index makes of the same feed.
const checkpointFormat = 9

// layoutSum is the sum of all that a checkpoint takes for granted: one that another
// program wrote, or the same one for another processor, has another sum.
var layoutSum = sync.OnceValue(func() [32]byte {
	var b strings.Builder
	fmt.Fprintf(&b, "format %d, %v, %d fields, %d numbered, last day %d\n",
		checkpointFormat, binary.NativeEndian, fields, numbered, lastDay)
	describe(&b, reflect.TypeFor[row]())
	return sha256.Sum256([]byte(b.String()))
})

func describe(b *strings.Builder, t reflect.Type) {
	fmt.Fprintf(b, "%s of %d bytes\n", t.Name(), t.Size())
	for f := range t.Fields() {
		fmt.Fprintf(b, "%s at %d: %s\n", f.Name, f.Offset, f.Type.Kind())
		if f.Type.Kind() == reflect.Struct {
			describe(b, f.Type)
		}
	}
}
