package ingest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
)

var (
	leak  = &model.Rule{Name: "leak", Message: "a $KIND", IssueType: model.Secrets, SecretType: "AWS"}
	vuln  = &model.Rule{Name: "vuln", IssueType: model.SCA}
	other = &model.Rule{Name: "other", IssueType: model.SAST}
)

func secret(path string, line int, hash byte) model.Result {
	r := result(leak, path, line, "")
	r.Secret = &model.SecretMatch{Hash: model.Digest{hash}}
	return r
}

func vulnerable(pkg, version string) model.Result {
	r := result(vuln, "go.sum", 3, "")
	r.Dependency = &model.Vulnerable{Ecosystem: "gomod", Package: pkg, Version: version, Lockfile: "go.sum"}
	return r
}

// with returns a changed copy of a result.
func with(r model.Result, change func(*model.Result)) model.Result {
	if r.Dependency != nil {
		v := *r.Dependency
		r.Dependency = &v
	}
	change(&r)
	return r
}

func observe(tool string, results ...model.Result) []Sighting {
	sightings, _ := Observe(&model.Report{Tool: tool, Results: results})
	return sightings
}

func TestIdentityKind(t *testing.T) {
	for name, test := range map[string]struct {
		result model.Result
		want   model.IdentityKind
	}{
		"match_based_id":            {matched("a.py", 1, "x"), model.IdentityMatchBased},
		"it beats a fingerprint":    {with(matched("a.py", 1, "x"), func(r *model.Result) { r.Fingerprint = "f" }), model.IdentityMatchBased},
		"fingerprint":               {with(result(eqeq, "a.py", 1, "x"), func(r *model.Result) { r.Fingerprint = "f" }), model.IdentityTool},
		"syntactic id":              {with(result(eqeq, "a.py", 1, "x"), func(r *model.Result) { r.SyntacticID = "s" }), model.IdentityTool},
		"code":                      {result(eqeq, "a.py", 1, "x"), model.IdentityOwn},
		"message":                   {result(eqeq, "a.py", 1, ""), model.IdentityOwn},
		"secret":                    {secret("a.py", 1, 1), model.IdentitySecret},
		"secret and match_based_id": {with(secret("a.py", 1, 1), func(r *model.Result) { r.MatchBasedID = "m" }), model.IdentitySecret},
		"redacted":                  {secret("a.py", 1, 0), model.IdentitySecret},
		"redacted, by its rule":     {result(leak, "a.py", 1, "key = 1"), model.IdentitySecret},
		"redacted, match_based_id":  {with(secret("a.py", 1, 0), func(r *model.Result) { r.MatchBasedID = "m" }), model.IdentityMatchBased},
		"dependency":                {vulnerable("p", "1"), model.IdentityDependency},
		"it and match_based_id":     {with(vulnerable("p", "1"), func(r *model.Result) { r.MatchBasedID = "m" }), model.IdentityMatchBased},
	} {
		t.Run(name, func(t *testing.T) {
			if got := observe("semgrep", test.result)[0].Finding.Identity.Kind; got != test.want {
				t.Errorf("kind %d, want %d", got, test.want)
			}
		})
	}
}

// TestIdentityMembers checks which properties an identity includes.
func TestIdentityMembers(t *testing.T) {
	fingerprint := with(result(eqeq, "a.py", 1, "x"), func(r *model.Result) { r.Fingerprint = "f" })
	cve := with(vulnerable("p", "1"), func(r *model.Result) { r.Dependency.Vulnerability = "CVE-1" })
	inCode := with(vulnerable("p", "1"), func(r *model.Result) { r.Dependency.InCode, r.Path = true, "a.py" })
	for name, test := range map[string]struct {
		a, b  model.Result
		tools [2]string
		same  bool
	}{
		"code: line":                      {a: result(eqeq, "a.py", 1, "x"), b: result(eqeq, "a.py", 9, "x"), same: true},
		"code: indentation":               {a: result(eqeq, "a.py", 1, "x\n  y"), b: result(eqeq, "a.py", 1, "\tx y "), same: true},
		"code: message":                   {a: result(eqeq, "a.py", 1, "x"), b: with(result(eqeq, "a.py", 1, "x"), func(r *model.Result) { r.Message = "n" }), same: true},
		"code: code":                      {a: result(eqeq, "a.py", 1, "x"), b: result(eqeq, "a.py", 1, "y")},
		"code: path":                      {a: result(eqeq, "a.py", 1, "x"), b: result(eqeq, "b.py", 1, "x")},
		"code: rule":                      {a: result(eqeq, "a.py", 1, "x"), b: result(other, "a.py", 1, "x")},
		"code: tool":                      {a: result(eqeq, "a.py", 1, "x"), b: result(eqeq, "a.py", 1, "x"), tools: [2]string{"gosec", "bandit"}},
		"code: edition of the tool":       {a: result(eqeq, "a.py", 1, "x"), b: result(eqeq, "a.py", 1, "x"), tools: [2]string{"Semgrep PRO", "opengrep oss"}, same: true},
		"fingerprint: code":               {a: fingerprint, b: with(fingerprint, func(r *model.Result) { r.Code = "y" }), same: true},
		"fingerprint: path":               {a: fingerprint, b: with(fingerprint, func(r *model.Result) { r.Path = "b.py" })},
		"fingerprint: rule":               {a: fingerprint, b: with(fingerprint, func(r *model.Result) { r.Rule = other })},
		"secret: line":                    {a: secret("a.py", 1, 1), b: secret("a.py", 5, 1), same: true},
		"secret: value":                   {a: secret("a.py", 1, 1), b: secret("a.py", 1, 2)},
		"secret: path":                    {a: secret("a.py", 1, 1), b: secret("b.py", 1, 1)},
		"secret: tool":                    {a: secret("a.py", 1, 1), b: secret("a.py", 1, 1), tools: [2]string{"gitleaks", "trufflehog"}, same: true},
		"dependency: version":             {a: vulnerable("p", "1"), b: vulnerable("p", "2"), same: true},
		"dependency: package":             {a: vulnerable("p", "1"), b: vulnerable("q", "1")},
		"dependency: ecosystem":           {a: vulnerable("p", "1"), b: with(vulnerable("p", "1"), func(r *model.Result) { r.Dependency.Ecosystem = "npm" })},
		"dependency: lockfile":            {a: vulnerable("p", "1"), b: with(vulnerable("p", "1"), func(r *model.Result) { r.Dependency.Lockfile = "b/go.sum" })},
		"dependency: vulnerability":       {a: cve, b: with(cve, func(r *model.Result) { r.Dependency.Vulnerability = "CVE-2" })},
		"dependency: rule of a CVE":       {a: cve, b: with(cve, func(r *model.Result) { r.Rule = &model.Rule{Name: "v2", IssueType: model.SCA} }), same: true},
		"dependency: rule without CVE":    {a: vulnerable("p", "1"), b: with(vulnerable("p", "1"), func(r *model.Result) { r.Rule = &model.Rule{Name: "v2", IssueType: model.SCA} })},
		"dependency: used in code or not": {a: vulnerable("p", "1"), b: inCode},
		"dependency: file that uses it":   {a: inCode, b: with(inCode, func(r *model.Result) { r.Path = "b.py" })},
		"dependency: line that uses it":   {a: inCode, b: with(inCode, func(r *model.Result) { r.Location.Line = 99 }), same: true},
	} {
		t.Run(name, func(t *testing.T) {
			if test.tools[0] == "" {
				test.tools = [2]string{"semgrep", "semgrep"}
			}
			a, b := observe(test.tools[0], test.a)[0], observe(test.tools[1], test.b)[0]
			if same := a.Finding.Identity == b.Finding.Identity; same != test.same {
				t.Errorf("the same: %v, want %v", same, test.same)
			}
		})
	}
}

func TestRepeatedResults(t *testing.T) {
	muted := func(r *model.Result) { r.Muted = true }
	historical := func(r *model.Result) { r.Secret = &model.SecretMatch{Hash: r.Secret.Hash, Commit: "c0"} }
	match := matched("a.py", 1, "x")
	for name, test := range map[string]struct {
		results []model.Result
		lines   []int // of the sightings
		unmuted int
	}{
		"told twice":                   {[]model.Result{match, match}, []int{1}, 1},
		"told twice, once muted":       {[]model.Result{with(match, muted), match}, []int{1}, 1},
		"one match_based_id, 2 places": {[]model.Result{match, matched("a.py", 4, "x")}, []int{1, 4}, 2},
		"one fingerprint, 2 places": {[]model.Result{
			with(result(eqeq, "a.py", 1, "x"), func(r *model.Result) { r.Fingerprint = "f" }),
			with(result(eqeq, "a.py", 4, "y"), func(r *model.Result) { r.Fingerprint = "f" }),
		}, []int{1, 4}, 2},
		"the same code twice":             {[]model.Result{result(eqeq, "a.py", 4, "x"), result(eqeq, "a.py", 1, "x")}, []int{1, 4}, 2},
		"redacted secrets":                {[]model.Result{secret("a.py", 4, 0), secret("a.py", 1, 0)}, []int{1, 4}, 2},
		"one secret twice in a file":      {[]model.Result{secret("a.py", 4, 1), secret("a.py", 1, 1)}, []int{1}, 1},
		"one secret, first muted":         {[]model.Result{secret("a.py", 4, 1), with(secret("a.py", 1, 1), muted)}, []int{4}, 1},
		"one secret, first in history":    {[]model.Result{secret("a.py", 4, 1), with(secret("a.py", 1, 1), historical)}, []int{4}, 1},
		"both muted":                      {[]model.Result{with(secret("a.py", 4, 1), muted), with(secret("a.py", 1, 1), muted)}, []int{1}, 0},
		"a package in two versions":       {[]model.Result{vulnerable("p", "2"), vulnerable("p", "1")}, []int{3}, 1},
		"equal hashes of different kinds": {[]model.Result{match, with(result(eqeq, "a.py", 2, ""), func(r *model.Result) { r.Fingerprint = match.MatchBasedID })}, []int{1, 2}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			sightings := observe("semgrep", test.results...)
			var lines []int
			seen := map[model.Identity]bool{}
			for _, s := range sightings {
				lines = append(lines, s.Finding.Line)
				seen[s.Finding.Identity] = true
			}
			if diff := cmp.Diff(test.lines, lines); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			if len(seen) != len(sightings) {
				t.Errorf("%d identities of %d sightings", len(seen), len(sightings))
			}
			if got := countSightings(sightings).Total(); got != test.unmuted {
				t.Errorf("%d unmuted, want %d", got, test.unmuted)
			}
		})
	}
}

func TestFirstVersionInSortOrderIsShown(t *testing.T) {
	s := observe("semgrep", vulnerable("p", "2"), vulnerable("p", "1"))
	if got := s[0].Result.Dependency.Version; got != "1" {
		t.Errorf("version %s is shown", got)
	}
}

func TestInvalidResultsAreRefused(t *testing.T) {
	for name, bad := range map[string]model.Result{
		"its rule":              {Path: "a.py"},
		"its rule's name":       {Path: "a.py", Rule: &model.Rule{}},
		"its file":              {Rule: eqeq},
		"a NUL in its path":     result(eqeq, "a\x00.py", 1, ""),
		"a path that is not":    result(eqeq, "a\xff.py", 1, ""),
		"a path too long":       result(eqeq, strings.Repeat("a", 4097), 1, ""),
		"its dependency":        result(vuln, "go.sum", 1, ""),
		"its package":           vulnerable("", "1"),
		"a NUL in its package":  vulnerable("p\x00", "1"),
		"a newline in its lock": with(vulnerable("p", "1"), func(r *model.Result) { r.Dependency.Lockfile = "a\nb" }),
	} {
		t.Run(name, func(t *testing.T) {
			bad.Item = "results[3]"
			sightings, refused := Observe(&model.Report{Tool: "semgrep", Results: []model.Result{bad, matched("a.py", 1, "x")}})
			if len(sightings) != 1 || refused.CountRefused() != 1 || refused.Refused[0].Item != "results[3]" || refused.Refused[0].Reason == "" {
				t.Errorf("%d sightings, refused %v", len(sightings), refused)
			}
		})
	}
}

// TestTruncatedCodeIdentity checks that the identity of cut code includes all of it.
func TestTruncatedCodeIdentity(t *testing.T) {
	cut := func(code string) model.Identity {
		r := result(eqeq, "a.js", 1, strings.Repeat("x", 64<<10))
		r.CodeHash = code
		seen, _ := Observe(&model.Report{Tool: "semgrep", Results: []model.Result{r}})
		return seen[0].Finding.Identity
	}
	if one, repeated := cut("one"), cut("one"); one == cut("other") || one != repeated {
		t.Error("lines that begin alike are one finding, or one is two")
	}
}
