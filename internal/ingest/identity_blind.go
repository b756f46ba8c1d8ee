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

// alike is what blind results have in common that nobody can tell apart: rule, path, and
// their outline. What a diff scan tells is alike on its ref alone.
func (o *observer) alike(r *redoubt.Result) redoubt.Digest {
	seen := outlineOf(r)
	if isSecret(r) {
		return o.d.start("redacted 2").str(r.Rule.Name, r.Path, o.partOf).num(int64(seen.length)).sum()
	}
	return o.d.start("own 2 message").str(o.tool, r.Rule.Name, r.Path, seen.message, o.partOf).num(int64(seen.length)).sum()
}
