package ingest

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/weblink"
)

// Sighting is one distinct occurrence as a report tells it: the result, and the
// row that it would be, with the members set that the scanner decides.
type Sighting struct {
	Result  *model.Result
	Finding model.Finding
	// Proposed says that the report mutes it outside of the code and that its sender
	// may not triage: whether it is muted is what is known of it, not what is said.
	Proposed bool

	blind    bool           // nothing is told of its code: its identity is good for this report alone
	inherits bool           // of the primary branch: its identity is one of there
	more     int            // further places of the same secret in the same file
	links    *weblink.Links // into another commit than the plan's; mostly nil
}

// Observe turns the results of a report into sightings, ordered by position,
// each identity once. What it cannot take it refuses, item by item.
//
// A result that is told twice counts once. Where one identity stands for
// several results by its nature (a secret that a file repeats, a package in
// several versions), the first in the tree that is not muted speaks for them.
func Observe(report *model.Report) ([]Sighting, model.Refusals) {
	o := observer{tool: model.CanonicalTool(report.Tool), ordinals: map[model.Digest]int64{}, at: map[model.Identity]int{}}
	var refused model.Refusals
	results := make([]digestedResult, 0, len(report.Results))
	for i := range report.Results {
		r := &report.Results[i]
		if reason := refusal(r); reason != "" {
			refused.Refuse(model.Refusal{Item: r.Item, Reason: reason})
			continue
		}
		results = append(results, digestedResult{r, o.d.content(r)})
	}
	slices.SortFunc(results, byPosition)
	o.sightings = make([]Sighting, 0, len(results))
	places := make(map[model.Digest]int, len(results))
	for _, r := range results {
		if i, again := places[r.content]; again {
			o.prefer(i, r)
			continue
		}
		places[r.content] = o.add(r)
	}
	return o.sightings, refused
}

// digestedResult is a result and the digest of what it says.
type digestedResult struct {
	*model.Result
	content model.Digest
}

// refusal says why a result cannot become a finding, or nothing.
func refusal(r *model.Result) string {
	switch {
	case r.Rule == nil || r.Rule.Name == "":
		return "it names no rule"
	case r.Path == "":
		return "it names no file"
	case !model.IsStorable(r.Path) || !model.IsStorable(r.Rule.Name):
		return "its path or its rule's name holds control characters, is not UTF-8, or is longer than 4096 bytes"
	case r.Rule.IssueType == model.SCA && r.Dependency == nil:
		return "it is of a supply-chain rule and names no dependency"
	case r.Dependency != nil && r.Dependency.Package == "":
		return "it is about a package and does not say which (semgrep's and opengrep's SARIF has no place for one, " +
			"their JSON has)"
	case r.Dependency != nil && !model.IsStorable(r.Dependency.Package+r.Dependency.Lockfile):
		return "the package or lockfile it names holds control characters, is not UTF-8, or is too long"
	}
	return ""
}

// byPosition orders results by file and place. What stands in one place is
// ordered by what it says, so the order of the report means nothing.
func byPosition(a, b digestedResult) int {
	x, y := a.Location, b.Location
	return cmp.Or(
		strings.Compare(a.Path, b.Path),
		cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column),
		cmp.Compare(x.EndLine, y.EndLine), cmp.Compare(x.EndColumn, y.EndColumn),
		strings.Compare(a.Rule.Name, b.Rule.Name), strings.Compare(a.MatchBasedID, b.MatchBasedID),
		strings.Compare(version(a.Result), version(b.Result)), bytes.Compare(a.content[:], b.content[:]),
	)
}

func version(r *model.Result) string {
	if r.Dependency == nil {
		return ""
	}
	return r.Dependency.Version
}

// observer builds sightings; ordinals counts equal keys within the report.
type observer struct {
	d         digester
	tool      string
	ordinals  map[model.Digest]int64
	at        map[model.Identity]int
	sightings []Sighting
}

// add appends the result's sighting, or puts it to the one of the same
// identity, and returns its place.
func (o *observer) add(r digestedResult) int {
	code := o.codeHash(r.Result)
	id := o.identity(r.Result, code)
	if i, known := o.at[id]; known {
		if id.Kind == model.IdentitySecret {
			o.sightings[i].more++
		}
		o.prefer(i, r)
		return i
	}
	o.at[id] = len(o.sightings)
	o.sightings = append(o.sightings, Sighting{Result: r.Result, Finding: o.row(r, id, code), blind: isBlind(r.Result)})
	return len(o.sightings) - 1
}

// prefer lets a later result of the same identity speak where the earlier one
// is muted or only in the history.
func (o *observer) prefer(i int, r digestedResult) {
	if s := &o.sightings[i]; rank(r.Result) < rank(s.Result) {
		*s = Sighting{
			Result:  r.Result,
			Finding: o.row(r, s.Finding.Identity, o.codeHash(r.Result)),
			more:    s.more,
			blind:   s.blind,
		}
	}
}

func rank(r *model.Result) int {
	rank := 0
	if r.Muted {
		rank = 2
	}
	if r.Secret != nil && r.Secret.Commit != "" {
		rank++
	}
	return rank
}

// identity decides what tells the finding from all others (docs/explanation/identity.md).
//
// A secret is its rule, path and keyed hash. Else the scanner's match_based_id
// counts, of which matches of code take the formula group and the code: the
// ordinal behind it stands for the code only where nothing of that is told. Then
// comes its other fingerprint with tool, rule and path, which not every scanner
// puts into it; then our own, which lines do not enter. A dependency is its
// vulnerability (or rule), lockfile and package, and the using file where the
// match is in code; its version is no part. What is told of without its code is
// numbered within the report, until it is known what it continues.
func (o *observer) identity(r *model.Result, code model.Digest) model.Identity {
	d, rule := &o.d, r.Rule.Name
	fingerprint := cmp.Or(r.Fingerprint, r.SyntacticID)
	switch {
	case r.Secret != nil && r.Secret.Hash != (model.Digest{}):
		return model.Identity{
			Kind: model.IdentitySecret,
			Hash: d.start("secret 1").str(rule, r.Path).digest(r.Secret.Hash).sum(),
		}
	case r.MatchBasedID != "" && code != (model.Digest{}) && (r.Dependency == nil || r.Dependency.InCode):
		return o.matched(r, code)
	case r.MatchBasedID != "":
		return o.numbered(model.IdentityMatchBased, d.start("match 1").str(r.MatchBasedID).sum())
	case isSecret(r):
		return o.numbered(model.IdentitySecret, d.start("redacted").str(rule, r.Path).sum())
	case r.Dependency != nil:
		return model.Identity{Kind: model.IdentityDependency, Hash: d.vulnerability(r)}
	case fingerprint != "":
		return o.numbered(model.IdentityTool, d.start("tool 1").str(o.tool, rule, r.Path, fingerprint).sum())
	case r.Code != "":
		d.start("own 1 code").str(o.tool, rule, r.Path, normalCode(r.Code))
		if len(r.Code) >= cutCode { // of which the rest counts too, if it is told
			d.str(r.CodeHash)
			if r.CodeKey != (model.Digest{}) {
				d.digest(r.CodeKey)
			}
		}
		return o.numbered(model.IdentityOwn, d.sum())
	}
	return o.numbered(model.IdentityOwn, d.start("blind").str(rule, r.Path).sum())
}

// isBlind reports whether a result tells nothing of its code, as those of semgrep's JSON
// where nobody is logged in, and of secrets that are redacted.
func isBlind(r *model.Result) bool {
	switch {
	case r.MatchBasedID != "" || r.Dependency != nil:
		return false
	case isSecret(r):
		return r.Secret == nil || r.Secret.Hash == (model.Digest{})
	}
	return cmp.Or(r.Fingerprint, r.SyntacticID, r.Code) == ""
}

// cutCode is the length, in bytes, of code that may have been cut when it was read.
const cutCode = 64<<10 - utf8.UTFMax

// numbered makes equal keys of one report differ, by their order of position.
func (o *observer) numbered(kind model.IdentityKind, key model.Digest) model.Identity {
	n := o.ordinals[key]
	o.ordinals[key]++
	return model.NumberedIdentity(kind, key, n)
}

// matched numbers equal code of one formula group. A report may hold only some of
// it, as that of a diff scan does, so the scanner's own number goes first.
func (o *observer) matched(r *model.Result, code model.Digest) model.Identity {
	key := model.MatchKey(model.FormulaGroup(r.MatchBasedID), code)
	if r.CodeNumber > 0 {
		id := model.NumberedIdentity(model.IdentityMatchBased, key, int64(r.CodeNumber-1))
		if _, taken := o.at[id]; !taken {
			return id
		}
	}
	for {
		id := o.numbered(model.IdentityMatchBased, key)
		if _, taken := o.at[id]; !taken {
			return id
		}
	}
}

func (d *digester) vulnerability(r *model.Result) model.Digest {
	v := r.Dependency
	d.start("dependency 1")
	d.flag(v.Vulnerability != "", v.InCode)
	d.str(cmp.Or(v.Vulnerability, r.Rule.Name), r.Lockfile(), v.Ecosystem, v.Package)
	if v.InCode {
		d.str(r.Path)
	}
	return d.sum()
}

func isSecret(r *model.Result) bool { return r.Secret != nil || r.Rule.IssueType == model.Secrets }

// normalCode is what stays of code when it is indented or wrapped anew.
func normalCode(code string) string { return strings.Join(strings.Fields(code), " ") }

// row sets the members of a finding that the scanner decides.
func (o *observer) row(r digestedResult, id model.Identity, code model.Digest) model.Finding {
	f := model.Finding{
		IssueType: issueType(r.Result), Identity: id, RuleName: r.Rule.Name,
		Path: r.Path, Line: r.Location.Line, Content: r.content,
		PatternHash: o.patternHash(r.Result), CodeHash: code, EdgeHash: o.edgeHash(r.Result),
		State:      model.Unresolved,
		Severity:   cmp.Or(r.Severity, r.Rule.Severity, model.SeverityMedium),
		Confidence: cmp.Or(r.Confidence, r.Rule.Confidence, model.ConfidenceMedium),
		ProOnly:    r.Rule.ProOnly && r.Dependency == nil && !isSecret(r.Result),
	}
	if r.Muted {
		f.State = model.Muted
	}
	if v := r.Dependency; v != nil {
		f.Reachability = cmp.Or(v.Reachability, model.ReachabilityUnknown)
		f.Transitivity = cmp.Or(v.Transitivity, model.TransitivityUnknown)
		f.Package, f.Malicious = v.Package, v.Malicious
	}
	if f.IssueType == model.Secrets {
		f.SecretType, f.ValidationState = r.Rule.SecretType, model.NoValidator
		if r.Secret != nil {
			f.ValidationState = cmp.Or(r.Secret.Validation, model.NoValidator)
			f.Historical = r.Secret.Commit != ""
		}
	}
	return f
}

func issueType(r *model.Result) model.IssueType {
	switch {
	case r.Dependency != nil:
		return model.SCA
	case isSecret(r):
		return model.Secrets
	}
	return model.SAST
}

// codeHash stands for the matched code when a file moved: the scanner's own
// hash; the keyed one of a secret; of a dependency its package; else that of the
// normalised code. It is zero when nothing of it is known.
func (o *observer) codeHash(r *model.Result) model.Digest {
	switch {
	case r.Secret != nil && r.Secret.Hash != (model.Digest{}):
		return r.Secret.Hash
	case r.CodeKey != (model.Digest{}):
		return r.CodeKey
	case r.CodeHash != "":
		return model.CodeDigest(r.CodeHash)
	case r.Dependency != nil:
		return o.d.start("package").str(r.Dependency.Ecosystem, r.Dependency.Package, r.Dependency.Vulnerability).sum()
	case r.Code != "" && !isSecret(r):
		return o.d.start("normal code").str(normalCode(r.Code)).sum()
	case r.MatchBasedID == "" && !isSecret(r) && cmp.Or(r.Fingerprint, r.SyntacticID) != "":
		return o.d.start("fingerprint").str(cmp.Or(r.Fingerprint, r.SyntacticID)).sum()
	}
	return model.Digest{}
}

// patternHash stands for the rule's pattern as it matched; of a secret, for the
// secret itself where its identity is the line that holds it.
func (o *observer) patternHash(r *model.Result) model.Digest {
	switch {
	case r.Secret != nil:
		return r.Secret.Value
	case r.PatternHash != "":
		return o.d.start("pattern").str(r.PatternHash).sum()
	}
	return model.Digest{}
}

// edgeHash stands for a match of several lines when something within it is
// edited: its formula group, first and last line.
func (o *observer) edgeHash(r *model.Result) model.Digest {
	if r.MatchBasedID == "" || r.StartHash == "" || r.EndHash == "" || r.Location.EndLine <= r.Location.Line ||
		r.Dependency != nil || isSecret(r) {
		return model.Digest{}
	}
	return o.d.start("edges").str(model.FormulaGroup(r.MatchBasedID), r.StartHash, r.EndHash).sum()
}

// shownID is the match_based_id that clients get: the scanner's, else ours. A
// secret's is always keyed when it can be, for an unkeyed hash could be guessed.
func (s *Sighting) shownID() string {
	if s.Finding.Identity.Kind == model.IdentityMatchBased {
		return s.Result.MatchBasedID
	}
	return hex.EncodeToString(s.Finding.Identity.Hash[:])
}
