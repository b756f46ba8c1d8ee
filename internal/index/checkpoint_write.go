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

// snapshot is a state at one moment, from which a checkpoint is written. It contains copies of the
// bitmaps and 16 bytes per lineage. Otherwise it refers to immutable values and frozen rows.
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
	stances    []byte // packed policy rules
	partitions []*partition
	frozen     []*frozenRows
	bitmaps    [][]byte
}

type wordList struct {
	name  string
	words *lexicon.Words
	texts []string
}

// wordLists returns the named dictionaries of words of a state.
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

// lexiconList is a lexicon and a copy of it at the time of the snapshot.
type lexiconList struct {
	name string
	of   *lexicon.Texts
	then lexicon.Texts
}

// lexicons returns the named lexicons of a state. A lexicon whose numbers another one contains
// comes first.
func (s *state) lexicons() []lexiconList {
	parts, lists := s.messages.Tables()
	return []lexiconList{
		{"paths", &s.paths, s.paths},
		{"parts of messages", parts, *parts},
		{"messages", lists, *lists},
	}
}

// snapshot returns a snapshot of a published state. The caller must hold the update semaphore, which
// prevents changes. Readers are not blocked.
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

// copied returns a copy with the fields that are needed to write the table.
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

// packBitmaps encodes each bitmap in the portable Roaring format.
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

// errSpoiled reports that too many rows changed while a checkpoint was written.
var errSpoiled = errors.New("too much changed while it was written")

// write writes a checkpoint. lock protects the rows.
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
		chunk, spoiled := z.nextChunk(p, buf), z.spoiled
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
			chunk[i].next, chunk[i].body = 0, bodyRef{} // not stored: derived or read on restore
		}
		w.Append(checkpoint.Raw(chunk))
	}
}

// writeLineages writes the lineages that differ from untriagedLineage.
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
	p.Count(0) // end of the list
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
		p.Text(e.searchText)
	}
	return p.Packed()
}

// Rows are most of an index. A checkpoint copies and writes them in chunks, each under a read lock
// for the duration of the copy. A chunk that changes before it is written is copied first. So no
// caller waits for a disk, and only changed chunks are in memory twice.

const (
	frozenChunk = 4096 // rows; about 512 KiB
	maxCopies   = 256  // chunks; with more, the checkpoint is abandoned
)

// frozenRows provides the rows of a partition as of the start of a checkpoint. Links between the
// rows of a lineage may be newer, because they are derived on restore.
type frozenRows struct {
	count   int           // number of rows at the start
	next    int           // next chunk to write
	copies  map[int][]row // copies of chunks that changed
	spoiled bool          // too many chunks changed
}

// freeze starts to copy rows before changes, for nextChunk. The caller must hold the update semaphore.
func (p *partition) freeze() *frozenRows {
	p.frozen = &frozenRows{count: len(p.rows), copies: map[int][]row{}}
	return p.frozen
}

// preserve copies a row's chunk if necessary. It must be called before a visible row changes.
func (p *partition) preserve(ordinal uint32) {
	z := p.frozen
	if z == nil || z.spoiled || int(ordinal) >= z.count {
		return
	}
	chunk := int(ordinal) / frozenChunk
	if _, copied := z.copies[chunk]; copied || chunk < z.next {
		return
	}
	if len(z.copies) == maxCopies {
		z.spoiled, z.copies = true, nil
		return
	}
	from, to := z.span(chunk)
	z.copies[chunk] = slices.Clone(p.rows[from:to])
}

func (z *frozenRows) span(chunk int) (from, to int) {
	return chunk * frozenChunk, min((chunk+1)*frozenChunk, z.count)
}

// nextChunk returns the next chunk, or nil after the last one. It copies rows to buf if necessary. The
// caller must hold a lock that prevents changes.
func (z *frozenRows) nextChunk(p *partition, buf []row) []row {
	from, to := z.span(z.next)
	if from >= to || z.spoiled {
		return nil
	}
	chunk, copied := z.copies[z.next]
	if !copied {
		chunk = buf[:copy(buf[:cap(buf)], p.rows[from:to])]
	}
	delete(z.copies, z.next)
	z.next++
	return chunk
}

// checkpointFormat is the version of a checkpoint's content. Increase it for changes that layoutSum
// does not cover, such as changes in how an index interprets the feed.
const checkpointFormat = 9

// layoutSum returns a checksum of the memory layout that checkpoints depend on. It differs between
// incompatible versions and processor architectures.
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
