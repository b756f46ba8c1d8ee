package ingest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/redoubt/redoubt"
)

// digester gathers the fields of one thing, each with its length, so that no
// two lists of fields give the same bytes.
type digester struct{ buf []byte }

// start begins a digest; the domain keeps those of different things apart.
func (d *digester) start(domain string) *digester {
	d.buf = d.buf[:0]
	return d.str(domain)
}

func (d *digester) str(fields ...string) *digester {
	for _, s := range fields {
		d.buf = binary.AppendUvarint(d.buf, uint64(len(s)))
		d.buf = append(d.buf, s...)
	}
	return d
}

func (d *digester) num(fields ...int64) *digester {
	for _, n := range fields {
		d.buf = binary.AppendVarint(d.buf, n)
	}
	return d
}

func (d *digester) flag(fields ...bool) {
	for _, b := range fields {
		if b {
			d.buf = append(d.buf, 1)
		} else {
			d.buf = append(d.buf, 0)
		}
	}
}

func (d *digester) digest(fields ...redoubt.Digest) *digester {
	for _, f := range fields {
		d.buf = append(d.buf, f[:]...)
	}
	return d
}

func (d *digester) sum() redoubt.Digest {
	full := sha256.Sum256(d.buf)
	return redoubt.Digest(full[:len(redoubt.Digest{})])
}

// content is the digest of all that the scanner said of one result but whether
// it is muted, which is the row's state.
func (d *digester) content(r *redoubt.Result) redoubt.Digest {
	l := r.Location
	d.start("content 1").str(r.Rule.Name, r.Path, r.Message, r.MatchBasedID, r.SyntacticID, r.Fingerprint,
		r.CodeHash, r.PatternHash, r.Code, r.Rule.SecretType)
	d.num(int64(l.Line), int64(l.Column), int64(l.EndLine), int64(l.EndColumn), int64(r.Severity), int64(r.Confidence))
	d.flag(r.Blocking, r.Rule.ProOnly, r.Secret != nil, r.Dependency != nil)
	if s := r.Secret; s != nil {
		d.digest(s.Hash, s.Value).num(int64(s.Validation)).str(s.Commit)
	}
	if v := r.Dependency; v != nil {
		d.dependency(v)
	}
	if r.StartHash != "" || r.EndHash != "" {
		d.str(r.StartHash, r.EndHash)
	}
	for _, step := range r.DataFlow {
		d.str(step.Path, step.Content).num(int64(step.Line), int64(step.Column))
	}
	return d.sum()
}

func (d *digester) dependency(v *redoubt.Vulnerable) {
	d.str(v.Ecosystem, v.Package, v.Version, v.Lockfile, v.Vulnerability, v.Condition)
	d.num(int64(v.Transitivity), int64(v.Line), int64(v.Reachability), int64(len(v.Fixes)))
	d.flag(v.Malicious, v.InCode)
	for _, fix := range v.Fixes {
		d.str(fix.Package, fix.Version)
	}
	if v.Unrated {
		d.str("unrated")
	}
}

// uploadDigest tells uploads apart by what they mean, by which an exact repeat
// is known (semantics §5, order). The order in which a report lists its
// results, rules and paths is no part of it.
func uploadDigest(u *Upload, sightings []Sighting, inventories []redoubt.InventoryStatement) redoubt.Digest {
	var d, item digester
	r := u.Report
	d.start("upload 1").str(u.Ref, u.Commit, u.source(), r.ToolVersion)
	d.str(u.Project.Name, u.Project.RepoID, u.Project.URL).num(int64(len(u.Project.Tags))).str(u.Project.Tags...)
	d.flag(u.Full, u.DeclaredFull, r.Failed, r.RulesRun == nil, r.Searched == nil, r.HidesMuted)
	d.num(unixMicro(u.At), unixMicro(r.StartedAt), int64(r.TotalTime), int64(r.Products))
	if u.Whole {
		d.str("whole")
	}
	if len(r.Unresolved) > 0 {
		d.str("unresolved").str(slices.Sorted(slices.Values(r.Unresolved))...)
	}
	if len(r.VEX) > 0 {
		d.str("vex").str(slices.Sorted(slices.Values(vexDigests(r.VEX)))...)
	}
	for _, list := range [][]string{r.RulesRun, r.Searched, r.Skipped, ruleDigests(r)} {
		list = slices.Sorted(slices.Values(list))
		d.num(int64(len(list))).str(list...)
	}
	items := make([]redoubt.Digest, 0, len(sightings)+len(inventories))
	for i := range sightings {
		f := &sightings[i].Finding
		items = append(items, item.start("").num(int64(f.Identity.Kind), int64(f.State)).digest(f.Identity.Hash, f.Content).sum())
	}
	for i := range inventories {
		items = append(items, inventories[i].Digest)
	}
	slices.SortFunc(items, func(a, b redoubt.Digest) int { return bytes.Compare(a[:], b[:]) })
	return d.digest(items...).sum()
}

// ruleDigests has one digest for each rule that the report describes.
func ruleDigests(r *redoubt.Report) []string {
	var d digester
	out := make([]string, 0, len(r.Rules))
	for _, rule := range r.Rules {
		d.start("rule").str(rule.Name, rule.Message, rule.Category, rule.URL, rule.Origin, rule.SecretType)
		d.num(int64(rule.IssueType), int64(rule.Severity), int64(rule.Confidence), int64(rule.Mode))
		d.flag(rule.ProOnly)
		if rule.Unrated {
			d.str("unrated")
		}
		for _, list := range [][]string{
			rule.Subcategories, rule.VulnerabilityClasses, rule.CWE, rule.OWASP,
			rule.Technologies, rule.Languages, rule.References, rule.Rulesets,
		} {
			d.num(int64(len(list))).str(list...)
		}
		sum := d.sum()
		out = append(out, string(sum[:]))
	}
	return out
}

// unixMicro is a time in microseconds since 1970; 0 is none.
func unixMicro(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
