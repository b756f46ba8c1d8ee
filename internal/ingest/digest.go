package ingest

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/weblink"
)

// digester collects fields for a digest. Each field is preceded by its length, so that different
// lists of fields never produce equal bytes.
type digester struct{ buf []byte }

// start begins a digest. The domain separates digests of different kinds.
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

// content returns the digest of a result. It excludes the muted flag, which is stored as the
// finding's state.
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

// storedDigest returns the digest that a scan stores for an identical upload. This is Upload.Digest
// if the stored findings contain everything in the report. Otherwise it is a digest that no upload
// has, so that the same report is always parsed.
func (u *Upload) storedDigest(
	s Store, sum *Summary, scan model.Scan, sightings []Sighting, inventories []model.InventoryStatement,
) model.Digest {
	proposed := func(s Sighting) bool { return s.Proposed }
	if u.Digest != (model.Digest{}) && scan.Status == model.ScanCompleted && sum.CountRefused() == 0 &&
		sum.MoreLocations == 0 &&
		len(inventories) == 0 && len(u.Report.VEX) == 0 && sum.SkippedVulnerabilities == 0 &&
		!slices.ContainsFunc(sightings, proposed) {
		return u.Digest
	}
	var d digester
	return d.start("upload that is read each time").num(s.Now().UnixMicro()).str(u.source(), u.Ref).sum()
}

// linkedContent returns the digest of a result and the repository that its links point to. It
// excludes the commit, because otherwise each scan would rewrite every body.
func linkedContent(links weblink.Links, result model.Digest) model.Digest {
	if links.Repository() == "" {
		return result
	}
	var d digester
	return d.start("linked").digest(result).str(links.Repository()).sum()
}
