package ingest

import (
	"cmp"

	"github.com/redoubt/redoubt"
)

// isBlind reports whether a result tells nothing of its code, as those of semgrep's JSON
// where nobody is logged in, and of secrets that are redacted.
func isBlind(r *redoubt.Result) bool {
	switch {
	case r.MatchBasedID != "" || r.Dependency != nil:
		return false
	case isSecret(r):
		return r.Secret == nil || r.Secret.Hash == (redoubt.Digest{})
	}
	return cmp.Or(r.Fingerprint, r.SyntacticID, r.Code) == ""
}

// alike is what blind results have in common that nobody can tell apart: rule, path,
// message, and how long the match is where it is in one line.
func (o *observer) alike(r *redoubt.Result) redoubt.Digest {
	length := int64(0)
	if at := r.Location; at.EndLine == at.Line && at.Column > 0 && at.EndColumn > at.Column {
		length = int64(at.EndColumn - at.Column)
	}
	if isSecret(r) {
		return o.d.start("redacted 2").str(r.Rule.Name, r.Path, o.partOf).num(length).sum()
	}
	return o.d.start("own 2 message").str(o.tool, r.Rule.Name, r.Path, normalMessage(r.Message), o.partOf).num(length).sum()
}

// countBlind counts the blind results that are alike, each once however often it is told.
func (o *observer) countBlind(results []digestedResult) {
	o.blind = map[redoubt.Digest]int64{}
	told := map[redoubt.Digest]bool{}
	for _, r := range results {
		if isBlind(r.Result) && !told[r.content] {
			told[r.content] = true
			o.blind[o.alike(r.Result)]++
			o.blind[o.formerKey(r.Result)]++
		}
	}
}

// oneOf is the identity of one of so many blind results that are alike. The count is part
// of it: as long as it is the same they are the same findings, in the order of the file;
// where one more is there nobody can say which is new, so none of them is what was
// decided about (semantics §4).
func (o *observer) oneOf(kind redoubt.IdentityKind, r *redoubt.Result) redoubt.Identity {
	key := o.alike(r)
	return o.numbered(kind, o.d.start("one of").digest(key).num(o.blind[key]).sum())
}

// former is the identity that a blind result had before their count was part of it: the
// number-th, from 0, of so many with one key.
type former struct {
	kind       redoubt.IdentityKind
	key        redoubt.Digest
	number, of int64
}

func (o *observer) formerKey(r *redoubt.Result) redoubt.Digest {
	if isSecret(r) {
		return o.d.start("redacted 1").str(r.Rule.Name, r.Path).sum()
	}
	return o.d.start("own 1 message").str(o.tool, r.Rule.Name, r.Path, normalMessage(r.Message)).sum()
}

// former numbers a blind result as it was numbered before; that of any other is zero.
func (o *observer) former(r *redoubt.Result) former {
	if !isBlind(r) {
		return former{}
	}
	kind := redoubt.IdentityOwn
	if isSecret(r) {
		kind = redoubt.IdentitySecret
	}
	key := o.formerKey(r)
	n := o.ordinals[key]
	o.ordinals[key]++
	return former{kind: kind, key: key, number: n, of: o.blind[key]}
}

// row is the live finding that has the former identity, where as many have one as the
// report tells of; nil otherwise.
func (f former) row(rows map[redoubt.Identity]*redoubt.Finding) *redoubt.Finding {
	at := func(n int64) *redoubt.Finding {
		if row := rows[redoubt.NumberedIdentity(f.kind, f.key, n)]; row != nil && live(row.State) {
			return row
		}
		return nil
	}
	if f.of == 0 || at(f.of-1) == nil || at(f.of) != nil {
		return nil
	}
	return at(f.number)
}
