package server

import (
	"fmt"
	"strings"
)

// hidden are the characters that terminals and pages obey in place of showing them
// (semantics §2), as a class of a regular expression, without its brackets.
const hidden = "\\x00-\\x1f\\x7f-\\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069"

// addressPattern is an http or https address without a user.
func addressPattern() string {
	return `[Hh][Tt][Tt][Pp][Ss]?://([^\s/?#@%:\\\[\]<>"^` + "`" + `{|}` + hidden + `]+|\[(` + ipv6Pattern() + `)\])(:[0-9]*)?([/?#]([^\s%` + hidden + `]|%[0-9A-Fa-f]{2})*)?`
}

// ipv6Pattern is an address of IPv6, as RFC 3986 writes them.
func ipv6Pattern() string {
	const (
		group = "[0-9A-Fa-f]{1,4}"
		octet = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
		last  = "(" + group + ":" + group + "|" + octet + `(\.` + octet + "){3})"
	)
	all := []string{"(" + group + ":){6}" + last, "::(" + group + ":){5}" + last}
	for left := range 7 { // further groups before the ::
		after := group
		switch {
		case left < 5:
			after = fmt.Sprintf("(%s:){%d}%s", group, 4-left, last)
		case left == 6:
			after = ""
		}
		all = append(all, fmt.Sprintf("((%s:){0,%d}%s)?::%s", group, left, group, after))
	}
	return strings.Join(all, "|")
}

// told is a rule about a text that the server holds to by itself, in its own words,
// and that the published document tells: the library would tell of it a second time,
// and show what a password may be in.
type told struct {
	schema, member string
	pattern        string // of the member, or of the items of a list
	most           int    // characters of each; 0: the pattern alone
	items          int    // how many at most; 0: it is no list, or of any length
}

// toldRules are all of them. What no pattern can say is told in words alone: sizes in
// bytes, sets in globs, members that go together, days that are over.
var toldRules = []told{
	{schema: "CreateProjectRequest", member: "name", pattern: projectPattern()},
	{schema: "CreateProjectRequest", member: "url", pattern: "^(" + addressPattern() + ")?$"},
	{schema: "CreateProjectRequest", member: "primary_branch", pattern: "^[^ " + hidden + "]*$"},
	{schema: "UpdateProjectRequest", member: "primary_branch", pattern: "^[^ " + hidden + "]+$"},
	{schema: "CreateExceptionRequest", member: "target", pattern: "^[^ " + hidden + "]+$"},
	{schema: "CreateExceptionRequest", member: "reason", pattern: `[^\s` + "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000" + hidden + "]"},
	{schema: "CreateExceptionRequest", member: "projects", pattern: "^[^" + hidden + "]+$", most: 512, items: 100},
	{schema: "CreateExceptionRequest", member: "paths", pattern: `^[^#!\\\s` + hidden + `]([^\\` + hidden + `]*[^\\\s` + hidden + "])?$", most: 512, items: 100},
	{schema: "CreateExceptionRequest", member: "until", pattern: `^([0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])(T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.,][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9]))?)?$`},
	{schema: "ExternalTicket", member: "url", pattern: "^" + addressPattern() + "$"},
	{schema: "ClickToFixPR", member: "url", pattern: "^(" + addressPattern() + ")?$"},
	{schema: "LinkTicketRequest", member: "ticket_url", pattern: "^" + addressPattern() + "$"},
	{schema: "CreatePolicyConditionRequest", member: "projects", pattern: "^[^" + hidden + "]+$", most: 512, items: 100},
	{schema: "CreatePolicyConditionRequest", member: "branches", pattern: "^[^" + hidden + "]+$", most: 512, items: 100},
	{schema: "CreatePolicyConditionRequest", member: "tags", most: 64},
	{schema: "Supplier", member: "url", pattern: `^([Hh][Tt][Tt][Pp][Ss]?://[A-Za-z0-9._-]+(:[0-9]*)?([/?#]([^\s%` + hidden + `]|%[0-9A-Fa-f]{2})*)?)?$`},
	{schema: "SupplierContact", member: "email", pattern: "^([A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)*)?$"},
	{schema: "Snippet", member: "lines", most: 400},
}

// projectPattern is a name of two segments or more, none of them empty, . or ..
func projectPattern() string {
	part := "[^/" + hidden + "]"
	segment := `([^./` + hidden + "]" + part + `*|\.[^./` + hidden + "]" + part + `*|\.\.` + part + "+)"
	return "^" + segment + "(/" + segment + ")+$"
}

// tell writes the rules into the document's schemas.
func tell(schemas map[string]any) {
	for _, rule := range toldRules {
		member := toldMember(schemas, rule.schema, rule.member)
		if rule.items > 0 {
			member["maxItems"] = rule.items
		}
		if items, list := member["items"].(map[string]any); list {
			member = items
		}
		if rule.pattern != "" {
			member["pattern"] = rule.pattern
		}
		if rule.most > 0 {
			member["maxLength"] = rule.most
		}
	}
}

// toldMember finds a member that a rule is about, or fails: it was renamed.
func toldMember(schemas map[string]any, schema, member string) map[string]any {
	object, _ := schemas[schema].(map[string]any)
	properties, _ := object["properties"].(map[string]any)
	found, ok := properties[member].(map[string]any)
	if !ok {
		panic("server: a rule is told of " + schema + "." + member + ", which is not there")
	}
	return found
}
