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

// matchLength is how long a match in one line is, in columns; 0 where it is not known or
// in several lines.
func matchLength(line, column, endLine, endColumn int) int {
	if endLine != line || column <= 0 {
		return 0
	}
	return max(0, endColumn-column)
}

func lengthOf(r *redoubt.Result) int {
	at := r.Location
	return matchLength(at.Line, at.Column, at.EndLine, at.EndColumn)
}

// alike is what blind results have in common that nobody can tell apart: rule, path,
// message, and how long the match is where it is in one line. What a diff scan tells is
// alike on its ref alone.
func (o *observer) alike(r *redoubt.Result) redoubt.Digest {
	length := int64(lengthOf(r))
	if isSecret(r) {
		return o.d.start("redacted 2").str(r.Rule.Name, r.Path, o.partOf).num(length).sum()
	}
	return o.d.start("own 2 message").str(o.tool, r.Rule.Name, r.Path, normalMessage(r.Message), o.partOf).num(length).sum()
}
