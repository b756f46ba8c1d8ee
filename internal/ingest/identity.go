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

// Sighting is one distinct occurrence in a report. It contains the result and the resulting
// finding, with the fields that the scanner determines.
type Sighting struct {
	Result  *model.Result
	Finding model.Finding
	// Proposed marks a result that is muted outside of the code, in an upload whose sender may not
	// triage. Its muted state is decided by stored findings.
	Proposed bool

	codeless bool           // without code: its identity is valid for this report only
	inherits bool           // its identity is that of a finding on the primary branch
	more     int            // further places of the same secret in the same file
	links    *weblink.Links // into another commit than the plan's; usually nil
}

// Observe converts the results of a report into sightings, ordered by position and unique by
// identity. It also returns the refused results.
//
// Identical results count once. Several results may share one identity, such as a secret repeated
// in a file or a package in several versions. Then the first unmuted result in the tree represents
// them.
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
	indexes := make(map[model.Digest]int, len(results))
	for _, r := range results {
		if i, duplicate := indexes[r.content]; duplicate {
			o.prefer(i, r)
			continue
		}
		indexes[r.content] = o.add(r)
	}
	return o.sightings, refused
}

// digestedResult is a result and its content digest.
type digestedResult struct {
	*model.Result
	content model.Digest
}

// refusal returns the reason why a result cannot become a finding, or "".
func refusal(r *model.Result) string {
	switch {
	case r.Rule == nil || r.Rule.Name == "":
		return "it has no rule"
	case r.Path == "":
		return "it has no file"
	case !model.IsStorable(r.Path) || !model.IsStorable(r.Rule.Name):
		return "its path or its rule's name has control characters, is not UTF-8, or is longer than 4096 bytes"
	case r.Rule.IssueType == model.SCA && r.Dependency == nil:
		return "its supply-chain rule requires a dependency"
	case r.Dependency != nil && r.Dependency.Package == "":
		return "its package has no name (the SARIF of semgrep and opengrep has no field for it, " +
			"their JSON has)"
	case r.Dependency != nil && !model.IsStorable(r.Dependency.Package+r.Dependency.Lockfile):
		return "its package or lockfile has control characters, is not UTF-8, or is too long"
	}
	return ""
}

// byPosition orders results by file and position. Results at one position are ordered by content,
// so that the order of the report has no effect.
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

// observer builds sightings. Its ordinals count equal keys within the report.
type observer struct {
	d         digester
	tool      string
	ordinals  map[model.Digest]int64
	at        map[model.Identity]int
	sightings []Sighting
}

// add appends the sighting of a result, or merges it into the sighting of the same identity. It
// returns the index of the sighting.
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
	o.sightings = append(o.sightings, Sighting{
		Result: r.Result, Finding: o.row(r, id, code), codeless: lacksCode(r.Result),
	})
	return len(o.sightings) - 1
}

// prefer replaces the result of a sighting if the new result ranks higher. Muted and historical
// results rank lower.
func (o *observer) prefer(i int, r digestedResult) {
	if s := &o.sightings[i]; rank(r.Result) < rank(s.Result) {
		*s = Sighting{
			Result:   r.Result,
			Finding:  o.row(r, s.Finding.Identity, o.codeHash(r.Result)),
			more:     s.more,
			codeless: s.codeless,
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

// identity returns the identity of the finding (docs/reference/identities.md). It uses the first of
// these that the result has:
//
//   - The rule, path and keyed hash of a secret.
//   - The match_based_id. Matches in code use its formula group and the code instead of its
//     ordinal, unless the code is unknown.
//   - The vulnerability (or rule), lockfile and package of a dependency, and the using file if the
//     match is in code. The version is excluded.
//   - The scanner's other fingerprint with tool, rule and path, which some scanners omit from it.
//   - The tool, rule, path and code, without the line.
//
// Results without code are numbered within the report, until they are matched with stored findings.
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
		if len(r.Code) >= cutCode { // long code may be cut, so its hash is included if it is known
			d.str(r.CodeHash)
			if r.CodeKey != (model.Digest{}) {
				d.digest(r.CodeKey)
			}
		}
		return o.numbered(model.IdentityOwn, d.sum())
	}
	return o.numbered(model.IdentityOwn, d.start("blind").str(rule, r.Path).sum())
}

// lacksCode reports whether a result contains nothing that identifies its code. Examples are
// Semgrep's JSON without login and redacted secrets.
func lacksCode(r *model.Result) bool {
	switch {
	case r.MatchBasedID != "" || r.Dependency != nil:
		return false
	case isSecret(r):
		return r.Secret == nil || r.Secret.Hash == (model.Digest{})
	}
	return cmp.Or(r.Fingerprint, r.SyntacticID, r.Code) == ""
}

// cutCode is the length, in bytes, from which code may have been cut by the parser.
const cutCode = 64<<10 - utf8.UTFMax

// numbered distinguishes equal keys within a report by their order of position.
func (o *observer) numbered(kind model.IdentityKind, key model.Digest) model.Identity {
	n := o.ordinals[key]
	o.ordinals[key]++
	return model.NumberedIdentity(kind, key, n)
}

// matched numbers equal code of one formula group. It prefers the scanner's own number, because a
// report of a diff scan may contain only some of the matches.
func (o *observer) matched(r *model.Result, code model.Digest) model.Identity {
	key := model.MatchKey(model.FormulaGroup(r.MatchBasedID), code)
	if r.CodeNumber > 0 {
		id := model.NumberedIdentity(model.IdentityMatchBased, key, int64(r.CodeNumber-1))
		if _, exists := o.at[id]; !exists {
			return id
		}
	}
	for {
		id := o.numbered(model.IdentityMatchBased, key)
		if _, exists := o.at[id]; !exists {
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

// normalCode collapses whitespace, so that indentation and line breaks have no effect.
func normalCode(code string) string { return strings.Join(strings.Fields(code), " ") }

// row returns a finding with the fields that the scanner determines.
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

// codeHash returns the hash of the matched code, which identifies the code when a file moves. It is
// the keyed hash of a secret, the scanner's own hash, the package of a dependency, or the hash of
// the normalized code. It is zero if the code is unknown.
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

// patternHash returns the hash of the rule's matched pattern. For a secret it is the hash of the
// secret itself, because its identity may be the line that contains it.
func (o *observer) patternHash(r *model.Result) model.Digest {
	switch {
	case r.Secret != nil:
		return r.Secret.Value
	case r.PatternHash != "":
		return o.d.start("pattern").str(r.PatternHash).sum()
	}
	return model.Digest{}
}

// edgeHash identifies a match of several lines when lines within it are edited. It combines the
// formula group, the first line and the last line.
func (o *observer) edgeHash(r *model.Result) model.Digest {
	if r.MatchBasedID == "" || r.StartHash == "" || r.EndHash == "" || r.Location.EndLine <= r.Location.Line ||
		r.Dependency != nil || isSecret(r) {
		return model.Digest{}
	}
	return o.d.start("edges").str(model.FormulaGroup(r.MatchBasedID), r.StartHash, r.EndHash).sum()
}

// shownID returns the match_based_id for clients: the scanner's if it has one, otherwise the
// identity's hash. A secret uses the keyed identity, because an unkeyed hash could be guessed.
func (s *Sighting) shownID() string {
	if s.Finding.Identity.Kind == model.IdentityMatchBased {
		return s.Result.MatchBasedID
	}
	return hex.EncodeToString(s.Finding.Identity.Hash[:])
}
