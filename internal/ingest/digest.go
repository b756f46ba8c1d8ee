package ingest

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/weblink"
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

func (d *digester) digest(fields ...model.Digest) *digester {
	for _, f := range fields {
		d.buf = append(d.buf, f[:]...)
	}
	return d
}

func (d *digester) sum() model.Digest {
	full := sha256.Sum256(d.buf)
	return model.Digest(full[:len(model.Digest{})])
}

// content is the digest of all that the scanner said of one result but whether
// it is muted, which is the row's state.
func (d *digester) content(r *model.Result) model.Digest {
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

func (d *digester) dependency(v *model.Vulnerable) {
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

// keptDigest returns the digest that a scan stores for an identical upload: Upload.Digest if the stored
// findings contain everything the report says. Otherwise it returns a digest that no upload
// has, so the same report is parsed each time.
func (u *Upload) keptDigest(
	s Store, sum *Summary, scan model.Scan, sightings []Sighting, inventories []model.InventoryStatement,
) model.Digest {
	proposed := func(s Sighting) bool { return s.Proposed }
	if u.Digest != (model.Digest{}) && scan.Status == model.ScanCompleted && sum.CountRefused() == 0 &&
		sum.MorePlaces == 0 &&
		len(inventories) == 0 && len(u.Report.VEX) == 0 && sum.SkippedVulnerabilities == 0 &&
		!slices.ContainsFunc(sightings, proposed) {
		return u.Digest
	}
	var d digester
	return d.start("upload that is read each time").num(s.Now().UnixMicro()).str(u.source(), u.Ref).sum()
}

// linkedContent is a result's digest together with what its body says beyond it: the
// repository that its links lead to. The commit is no part, or each scan would write every body anew.
func linkedContent(links weblink.Links, result model.Digest) model.Digest {
	if links.Repository() == "" {
		return result
	}
	var d digester
	return d.start("linked").digest(result).str(links.Repository()).sum()
}
