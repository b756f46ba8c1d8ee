package secrets

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// RegisterMatch registers a secret and sets the hash that identifies it: of the secret or, for Semgrep, of
// its lines. Uploads of `semgrep ci` contain only the hash of the lines, and both are one source
// (docs/explanation/identity.md).
func (r *Redactor) RegisterMatch(tool string, match *model.SecretMatch, secret string, lines model.Digest) {
	match.Hash = r.Register(secret)
	if tool == SemgrepTool && match.Hash != (model.Digest{}) {
		match.Hash, match.Value = r.KeyedCode(lines), match.Hash
	}
}

// SemgrepTool is the name of semgrep and of tools that count as the same source.
const SemgrepTool = "semgrep"

// Hide converts a result to a secret finding. It removes all values from which the secret could be
// guessed.
func Hide(res *model.Result, match *model.SecretMatch) {
	res.Secret = match
	res.Code, res.CodeHash, res.CodeKey, res.DataFlow = "", "", model.Digest{}, nil
	res.MatchBasedID, res.SyntacticID, res.PatternHash, res.StartHash, res.EndHash = "", "", "", "", ""
	res.CodeNumber = 0
}

// hideHash replaces the scanner's hash of code that contained a secret with a keyed hash. Moved
// code is found by that hash. It removes values computed from the code, because the secret could be
// guessed from unkeyed hashes.
func (r *Redactor) hideHash(res *model.Result) {
	if res.CodeKey == (model.Digest{}) {
		res.CodeKey = r.KeyedCode(model.CodeDigest(res.CodeHash))
	}
	res.CodeHash, res.PatternHash, res.StartHash, res.EndHash = "", "", "", ""
	res.CodeNumber = 0
	for _, id := range []*string{&res.SyntacticID, &res.MatchBasedID} {
		if r.Computed[*id] {
			*id = ""
		}
	}
}

// ForgetFormulas removes values computed from formulas that contain a secret, although the code
// does not. The secret could be guessed from the unkeyed hashes.
func (r *Redactor) ForgetFormulas(reports []*model.Report) {
	if len(r.Wider) == 0 {
		return
	}
	containsSecret := r.Firm().In
	for _, rep := range reports {
		for i := range rep.Results {
			res := &rep.Results[i]
			if formula, known := r.Wider[res.PatternHash]; !known || !containsSecret(formula) {
				continue
			}
			res.PatternHash = ""
			if r.Computed[res.MatchBasedID] {
				res.MatchBasedID = ""
			}
		}
	}
}

// Reveal converts results to secret findings if their rule is known to be for secrets. The rule is
// known from other parts of the upload or by the function known. It skips rules that declare their
// product, and reports whether it changed any.
func (r *Redactor) Reveal(reports []*model.Report, known func(tool, rule string) bool) (changed bool) {
	type name struct{ tool, rule string }
	secretRules := map[name]bool{}
	for _, rep := range reports {
		for _, rule := range rep.Rules {
			if rule.IssueType == model.Secrets {
				secretRules[name{rep.Tool, rule.Name}] = true
			}
		}
	}
	for _, rep := range reports {
		revealed := false
		for _, rule := range rep.Rules {
			if rule.IssueType == model.SAST && !r.Declared[rule] &&
				(secretRules[name{rep.Tool, rule.Name}] || known != nil && known(rep.Tool, rule.Name)) {
				rule.IssueType, rule.SecretType, revealed = model.Secrets, secretTypeOfRule(rule), true
			}
		}
		if revealed {
			r.concealRevealed(rep)
			changed = true
		}
	}
	return changed
}

func (r *Redactor) concealRevealed(rep *model.Report) {
	rep.Products = (rep.Products &^ model.Products(0).With(model.SAST)).With(model.Secrets)
	for _, rule := range rep.Rules {
		rep.Products = rep.Products.With(rule.IssueType)
	}
	for i := range rep.Results {
		res := &rep.Results[i]
		if res.Rule.IssueType == model.Secrets && res.Secret == nil {
			r.conceal(rep.Tool, res)
		}
	}
}

// conceal converts a code finding to a secret finding.
func (r *Redactor) conceal(tool string, res *model.Result) {
	match := &model.SecretMatch{Validation: model.NoValidator}
	lines := model.CodeDigest(res.CodeHash)
	switch {
	case tool == SemgrepTool && res.CodeKey != (model.Digest{}): // it was redacted before
		match.Hash = res.CodeKey
	// as in scans that Semgrep uploads
	case tool == SemgrepTool && (res.Code == "" || strings.Contains(res.Code, Redacted)):
		match.Hash = r.KeyedCode(lines)
	case tool == SemgrepTool:
		from := Position{Line: read.Number(res.Location.Line), Col: read.Number(res.Location.Column)}
		to := Position{Line: read.Number(res.Location.EndLine), Col: read.Number(res.Location.EndColumn)}
		r.RegisterMatch(tool, match, Region(res.Code, from, to), lines)
	default:
		r.RegisterMatch(tool, match, res.Code, lines)
	}
	res.Message = cmp.Or(res.Rule.Message, res.Rule.Name)
	Hide(res, match)
}

// secretTypeOfRule returns the kind of credential of a rule without a secret type.
func secretTypeOfRule(rule *model.Rule) string {
	if len(rule.Technologies) > 0 {
		return rule.Technologies[0]
	}
	return SecretTypeOf(rule.Name)
}

// Number distinguishes several secrets in one line, if their line identifies them, by their order
// in the line. A repetition of the whole line is the same secret.
func (r *Redactor) Number(rep *model.Report) {
	if rep.Tool != SemgrepTool {
		return
	}
	type line struct {
		rule, path string
		number     int
		hash       model.Digest
	}
	lines := map[line][]*model.Result{}
	for i := range rep.Results {
		if res := &rep.Results[i]; res.Secret != nil && res.Secret.Hash != (model.Digest{}) {
			on := line{res.Rule.Name, res.Path, res.Location.Line, res.Secret.Hash}
			lines[on] = append(lines[on], res)
		}
	}
	for on, list := range lines {
		slices.SortFunc(list, func(a, b *model.Result) int { return compareEnds(a.Location, b.Location) })
		n := uint64(0)
		for i, res := range list {
			if i > 0 && compareEnds(list[i-1].Location, res.Location) != 0 {
				n++
			}
			if n > 0 {
				res.Secret.Hash = r.keyed(binary.AppendUvarint(append([]byte("next "), on.hash[:]...), n))
			}
		}
	}
}

func compareEnds(a, b model.Location) int {
	return cmp.Or(cmp.Compare(a.Column, b.Column), cmp.Compare(a.EndLine, b.EndLine),
		cmp.Compare(a.EndColumn, b.EndColumn))
}
