package secrets

import (
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// TestURLPasswordPreservesOtherIdentities checks that a word that is a password in an address
// is redacted everywhere. Hashes of other code with the word are preserved, so that identities do
// not depend on the address. Hashes of code with other secrets are removed.
func TestURLPasswordPreservesOtherIdentities(t *testing.T) {
	const word, random = "Passw0rd12", "hG7kLq2ZtR9vXw4bN8mC"
	r := NewRedactor([]byte("a key for tests, of some length"))
	r.Watch().scan([]byte(`connect("postgres://app:` + word + `@db/x") connect("postgres://app:` + random + `@db/y")`))
	rule := &model.Rule{Name: "calls", IssueType: model.SAST}
	other := &model.Result{Rule: rule, Code: `login(u, "` + word + `")`, CodeHash: "same"}
	removed := &model.Result{Rule: rule, Code: `login(u, "` + random + `")`, CodeHash: "gone"}
	rep := &model.Report{Results: []model.Result{*other, *removed}}
	r.Scrub(rep)
	if got := rep.Results[0]; strings.Contains(got.Code, word) || got.CodeHash != "same" {
		t.Errorf("other code is %q under the hash %q", got.Code, got.CodeHash)
	}
	if got := rep.Results[1]; strings.Contains(got.Code, random) || got.CodeHash != "" {
		t.Errorf("code that holds a secret is %q under the hash %q", got.Code, got.CodeHash)
	}
	r.Register(word) // as a rule for secrets does
	known := &model.Report{Results: []model.Result{*other}}
	if r.Scrub(known); known.Results[0].CodeHash != "" {
		t.Errorf("code that holds a known secret keeps its hash %q", known.Results[0].CodeHash)
	}
}
