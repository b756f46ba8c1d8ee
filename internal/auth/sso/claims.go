package sso

import (
	"fmt"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// claims are what a provider says of somebody: of whatever types it likes.
type claims map[string]any

func (c claims) text(name string) string {
	s, _ := c[name].(string)
	return strings.TrimSpace(s)
}

// truth takes "true" for true, which some providers send.
func (c claims) truth(name string) bool {
	return c[name] == true || c[name] == "true"
}

// list takes a single word for a list of one. The name may lead through
// objects, as realm_access.roles does.
func (c claims) list(name string) []string {
	var at any = map[string]any(c)
	if value, ok := c[name]; ok {
		at = value
	} else {
		for part := range strings.SplitSeq(name, ".") {
			object, _ := at.(map[string]any)
			at = object[part]
		}
	}
	switch v := at.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, item := range v {
			if s, ok := item.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// userName makes a name to sign in with of what a provider calls somebody;
// empty where nothing is left.
func userName(s string) string {
	var b strings.Builder
	for _, r := range model.NormalUserName(s) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() == 0: // a name starts with a letter or digit
		case strings.ContainsRune("._@+-", r):
			b.WriteRune(r)
		default:
			b.WriteByte('-')
		}
		if b.Len() == 90 { // a number may follow
			break
		}
	}
	return b.String()[:min(b.Len(), longestName)]
}

// longestName leaves room for a number behind a name that is taken.
const longestName = 90

// Rule says which role a group means.
type Rule struct {
	Group      string // * is everybody who is let in
	Deployment string // slug; empty: every deployment
	Role       model.Role
}

// ParseRule reads GROUP=ROLE, or GROUP=DEPLOYMENT:ROLE.
func ParseRule(s string) (Rule, error) {
	cut := strings.LastIndexByte(s, '=')
	if cut <= 0 {
		return Rule{}, fmt.Errorf("%q is not GROUP=ROLE or GROUP=DEPLOYMENT:ROLE", s)
	}
	r := Rule{Group: s[:cut]}
	word := s[cut+1:]
	if slug, role, ok := strings.Cut(word, ":"); ok {
		if r.Deployment, word = slug, role; !model.ValidSlug(slug) {
			return Rule{}, fmt.Errorf("%q names no deployment before the colon", s)
		}
	}
	var ok bool
	if r.Role, ok = model.ParseRole(word); !ok {
		return Rule{}, fmt.Errorf("%q ends with no role: viewer, triager or admin", s)
	}
	return r, nil
}

// Roles returns what groups mean, by deployment id: the highest role counts.
func (p *Provider) Roles(groups []string, all []model.Deployment) map[int64]model.Role {
	has := map[string]bool{"*": true}
	for _, g := range groups {
		has[g] = true
	}
	out := map[int64]model.Role{}
	for _, rule := range p.Rules {
		for _, d := range all {
			if has[rule.Group] && (rule.Deployment == "" || rule.Deployment == d.Slug) {
				out[d.ID] = max(out[d.ID], rule.Role)
			}
		}
	}
	return out
}
