package sbom

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// spdxSchema is the list of SPDX licenses and exceptions, one of which each license.id of CycloneDX
// must be.
//
//go:embed spdx.schema.json
var spdxSchema []byte

// licenseIDs maps identifiers in lower case to their spelling, since they are case-insensitive
// (SPDX 2.3, annex D.2).
var licenseIDs = sync.OnceValue(func() map[string]string {
	var list struct{ Enum []string }
	if err := json.Unmarshal(spdxSchema, &list); err != nil {
		panic(fmt.Sprintf("the embedded license list does not parse: %v", err))
	}
	ids := make(map[string]string, len(list.Enum))
	for _, id := range list.Enum {
		ids[strings.ToLower(id)] = id
	}
	return ids
})

// license is a parsed license of a package. Exactly one member is set.
type license struct {
	id         string // on the SPDX list
	expression string // of several such ids, or a LicenseRef
	name       string // any other text
}

// readLicense parses the text of a license. It returns false for texts that state an unknown
// license.
func readLicense(s string) (license, bool) {
	s = singleLine(s)
	switch strings.ToUpper(s) {
	case "", "NOASSERTION", "NONE", "UNKNOWN":
		return license{}, false
	}
	if id, known := licenseIDs()[strings.ToLower(s)]; known {
		return license{id: id}, true
	}
	e, ok := readExpression(s)
	if _, single := licenseIDs()[strings.ToLower(e)]; single { // in parentheses
		return license{id: e}, true
	}
	if ok {
		return license{expression: e}, true
	}
	return license{name: s}, true
}

func sortLicenses(licenses []license) []license {
	slices.SortFunc(licenses, func(a, b license) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.expression, b.expression), cmp.Compare(a.id, b.id))
	})
	return slices.Compact(licenses)
}

// allOf joins expressions with AND.
func allOf(terms []string) string {
	if len(terms) == 1 {
		return terms[0]
	}
	joined, ok := readExpression("(" + strings.Join(terms, ") AND (") + ")")
	if !ok { // too long for the parser: valid, but with redundant parentheses
		return "(" + strings.Join(terms, ") AND (") + ")"
	}
	return joined
}

// maxExpression is the maximum length of a license expression, in bytes. It also limits the nesting
// of parentheses.
const maxExpression = 4096

var (
	expressionToken = regexp.MustCompile(`[()]|[^()\s]+`)
	licenseRef      = regexp.MustCompile(`^LicenseRef-[A-Za-z0-9.-]+$`)
)

// readExpression parses an SPDX license expression (SPDX 2.3, annex D) and returns it without
// redundant parentheses. It returns false if an identifier is unknown.
func readExpression(s string) (string, bool) {
	if len(s) > maxExpression {
		return "", false
	}
	p := expressionParser{tokens: expressionToken.FindAllString(s, -1)}
	e, ok := p.choice()
	if !ok || len(p.tokens) > 0 {
		return "", false
	}
	return e.text, true
}

// expression is a parsed expression. A choice requires parentheses within an AND.
type expression struct {
	text   string
	choice bool
}

// expressionParser consumes tokens from the front.
type expressionParser struct{ tokens []string }

func (p *expressionParser) accept(word string) bool {
	if len(p.tokens) == 0 || !strings.EqualFold(p.tokens[0], word) {
		return false
	}
	p.tokens = p.tokens[1:]
	return true
}

func (p *expressionParser) next() string {
	if len(p.tokens) == 0 {
		return ""
	}
	t := p.tokens[0]
	p.tokens = p.tokens[1:]
	return t
}

// choice parses terms joined with OR.
func (p *expressionParser) choice() (expression, bool) {
	e, ok := p.conjunction()
	for ok && p.accept("OR") {
		var other expression
		other, ok = p.conjunction()
		e = expression{text: e.text + " OR " + other.text, choice: true}
	}
	return e, ok
}

// conjunction parses terms joined with AND.
func (p *expressionParser) conjunction() (expression, bool) {
	e, ok := p.term()
	for ok && p.accept("AND") {
		var other expression
		other, ok = p.term()
		e = expression{text: e.bracketed() + " AND " + other.bracketed()}
	}
	return e, ok
}

func (e expression) bracketed() string {
	if e.choice {
		return "(" + e.text + ")"
	}
	return e.text
}

// term parses an expression in parentheses, or a license with an optional exception.
func (p *expressionParser) term() (expression, bool) {
	if p.accept("(") {
		inner, ok := p.choice()
		return inner, ok && p.accept(")")
	}
	id, ok := expressionID(p.next())
	if !ok || !p.accept("WITH") {
		return expression{text: id}, ok
	}
	exception, known := licenseIDs()[strings.ToLower(p.next())]
	return expression{text: id + " WITH " + exception}, known
}

// expressionID returns the spelling of a license in an expression. A trailing + means any later
// version.
func expressionID(token string) (string, bool) {
	if licenseRef.MatchString(token) {
		return token, true
	}
	if id, known := licenseIDs()[strings.ToLower(token)]; known {
		return id, true
	}
	base, later := strings.CutSuffix(token, "+")
	id, known := licenseIDs()[strings.ToLower(base)]
	return id + "+", known && later
}
