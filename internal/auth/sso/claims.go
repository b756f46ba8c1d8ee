package sso

import (
	"fmt"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// claims are the claims of a provider, with unchecked types.
type claims map[string]any

func (c claims) text(name string) string {
	s, _ := c[name].(string)
	return strings.TrimSpace(s)
}

// truth returns a boolean claim. It accepts the string "true", which some providers send.
func (c claims) truth(name string) bool {
	return c[name] == true || c[name] == "true"
}

// list returns a list claim. A single string is a list of one. The name may be a path through
// objects, such as realm_access.roles.
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

// userName converts a provider's name to a valid user name, or returns "".
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

// longestName reserves space for a number after a name that is already in use.
const longestName = 90

// Rule maps a group to a role.
type Rule struct {
	Group      string // * means everyone with access
	Deployment string // slug; empty for every deployment
	Role       model.Role
}

// ParseRule parses GROUP=ROLE or GROUP=DEPLOYMENT:ROLE.
func ParseRule(s string) (Rule, error) {
	cut := strings.LastIndexByte(s, '=')
	if cut <= 0 {
		return Rule{}, fmt.Errorf("invalid group rule %q: use GROUP=ROLE or GROUP=DEPLOYMENT:ROLE", s)
	}
	r := Rule{Group: s[:cut]}
	word := s[cut+1:]
	if slug, role, ok := strings.Cut(word, ":"); ok {
		if r.Deployment, word = slug, role; !model.ValidSlug(slug) {
			return Rule{}, fmt.Errorf("%q has no deployment before the colon", s)
		}
	}
	var ok bool
	if r.Role, ok = model.ParseRole(word); !ok {
		return Rule{}, fmt.Errorf("%q does not end with a role: use viewer, triager or admin", s)
	}
	return r, nil
}

// Roles returns the highest role of the groups, by deployment id.
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
