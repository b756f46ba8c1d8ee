package model

import (
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// TicketState is how far a ticket is, as its tracker told last.
type TicketState uint8

// States of a ticket. The numbers are stored: never give one another meaning.
const (
	TicketUnknown   TicketState = iota + 1 // linked by its address; no connection reaches its tracker
	TicketRequested                        // somebody asked for it, and it is to be created
	TicketOpen
	TicketClosed
	TicketFailed // it could not be created; Problem says why
)

var ticketStates = enumNames[TicketState]{"", "unknown", "requested", "open", "closed", "failed"}

// String returns the wire name.
func (s TicketState) String() string { return ticketStates.name(s) }

// Ticket is an issue in somebody's tracker that findings are linked to. A finding has
// one at most, on all its refs.
type Ticket struct {
	ID    int64
	State TicketState
	URL   string // empty until it is created
	Slug  string // what people call it: SEC-12, acme/app#7; empty until it is created
	// ConnectionID is the connection that reaches its tracker; 0: none does.
	ConnectionID int64
	Project      string // of the tracker: a repository's full name, or a key of Jira
	Key          string // the tracker's own id: an issue's number, or a key as SEC-12
	Marker       string // written into a ticket that we create, so that it is found again; empty: we did not
	Problem      string // why it could not be created, or asked for; for people
	CreatedAt    time.Time
	CreatedBy    Actor
	CheckedAt    time.Time // when its tracker was asked last; zero: never
}

// Created reports whether the ticket is in its tracker.
func (t Ticket) Created() bool { return t.URL != "" }

// TicketFinding is a finding that a ticket is about.
type TicketFinding struct {
	TicketID  int64
	FindingID int64 // as it was asked for; the link holds for its lineage
	LineageID int64
	ProjectID int64
}

// TicketSetting is where a deployment's tickets are made, and what they are given.
type TicketSetting struct {
	ConnectionID int64 `json:"connection_id"` // 0: that of each project's repository
	// Project is a repository's full name or a key of Jira; empty: the project's own repository.
	Project   string   `json:"project"`
	IssueType string   `json:"issue_type"` // of Jira; empty: Task
	Labels    []string `json:"labels"`
	Public    bool     `json:"public"` // whether repositories that everybody reads may be told of findings
}

// Bounds of tickets.
const (
	// MaxTicketFindings is how many findings one ticket is about at most.
	MaxTicketFindings = 100
	// MaxTicketSelection is how many findings one request makes tickets of at most (the contract).
	MaxTicketSelection = 20

	maxTicketURL     = 2048
	maxTicketLabels  = 20
	maxTicketLabel   = 50
	maxTicketProject = 500
)

// ParseTicketURL reads the address of a ticket, and what people call it: by its shape
// that of GitHub, GitLab, Gitea or Jira, else the last part of its path. The error says
// what is wrong, for people.
func ParseTicketURL(address string) (t Ticket, err error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || len(address) > maxTicketURL || !utf8.ValidString(address) ||
		strings.ContainsFunc(address, IsControl):
		return t, Invalid("ticket_url",
			"this is no address of %d characters at most, as https://tracker.example.com/browse/SEC-12", maxTicketURL)
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return t, Invalid("ticket_url", "the address begins with https:// or http://, and names a host")
	case u.User != nil:
		return t, Invalid("ticket_url", "an address holds no user or password")
	}
	if name := secretParameter(u); name != "" {
		return t, Invalid("ticket_url",
			"an address holds no secret, and the name %.60q is that of one: leave it out with its value", name)
	}
	t = Ticket{State: TicketUnknown, URL: address}
	t.Project, t.Key = ticketIn(strings.Split(strings.Trim(u.Path, "/"), "/"))
	switch {
	case t.Key == "":
		t.Slug = lastOf(strings.Trim(u.Path, "/"), u.Hostname())
	case strings.HasPrefix(t.Key, t.Project+"-"): // Jira's
		t.Slug = t.Key
	default:
		t.Slug = t.Project + "#" + t.Key
	}
	t.Slug = TicketSlug(t.Slug)
	return t, nil
}

// secretParameter finds the name of a value in an address that is one for secrets, in its
// path, query or fragment; empty: none.
func secretParameter(u *url.URL) string {
	text := u.Path + "?" + unescapedPairs(u.RawQuery) + "#" + u.Fragment
	for _, pair := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("/?&;#", r) }) {
		if name, value, _ := strings.Cut(pair, "="); value != "" && isSecretName(name) {
			return name
		}
	}
	return ""
}

// unescapedPairs is a query as it reads, without what is no escape in it.
func unescapedPairs(query string) string {
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		if plain, err := url.QueryUnescape(pair); err == nil {
			pairs[i] = plain
		}
	}
	return strings.Join(pairs, "&")
}

// Words by which names are those of secrets: as a part of the name without its signs, or
// as the whole of it, where words that are harmless have them as a part.
var (
	secretNameParts = []string{
		"token", "secret", "password", "passwd", "passphrase", "pwd", "credential", "authorization", "signature", "sessionid",
		"sessid", "jwt", "apikey", "accesskey", "privatekey", "authkey",
	}
	secretNames = []string{"auth", "sig", "sid", "pass", "session"}
)

// isSecretName reports whether a name is as access_token or X-Api-Key.
func isSecretName(name string) bool {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-.[] ", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
	return slices.Contains(secretNames, name) ||
		slices.ContainsFunc(secretNameParts, func(part string) bool { return strings.Contains(name, part) })
}

// TicketSlug is what a ticket may be called: one line of 200 characters at most.
func TicketSlug(s string) string { return cutRunes(Line(s), 200) }

// ticketIn finds project and key in the parts of a path; none are empty.
func ticketIn(parts []string) (project, key string) {
	n := len(parts)
	switch {
	case n >= 2 && parts[n-2] == "browse" && isJiraKey(parts[n-1]):
		project, _, _ = strings.Cut(parts[n-1], "-")
		return project, parts[n-1]
	case n < 4 || !isNumber(parts[n-1]) || parts[n-2] != "issues" && parts[n-2] != "work_items":
		return "", ""
	case parts[n-3] == "-":
		return strings.Join(parts[:n-3], "/"), parts[n-1]
	}
	return strings.Join(parts[:n-2], "/"), parts[n-1]
}

func lastOf(path, otherwise string) string {
	if last := path[strings.LastIndexByte(path, '/')+1:]; last != "" {
		return last
	}
	return otherwise
}

func isNumber(s string) bool {
	return s != "" && len(s) <= 18 && strings.Trim(s, "0123456789") == ""
}

// isJiraKey reports whether a text is as SEC-12.
func isJiraKey(s string) bool {
	project, number, found := strings.Cut(s, "-")
	return found && IsJiraProject(project) && isNumber(number)
}

// IsJiraProject reports whether a text is the key of a project of Jira, as SEC.
func IsJiraProject(s string) bool {
	return len(s) >= 2 && len(s) <= 100 && s[0] >= 'A' && s[0] <= 'Z' &&
		strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

func cutRunes(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most])
	}
	return s
}

// Check says what is wrong with a setting, for people.
func (s TicketSetting) Check() error {
	switch {
	case len(s.Project) > maxTicketProject || strings.ContainsFunc(s.Project, IsControl):
		return Invalid("project", "the tracker's project is as acme/app, or SEC for Jira")
	case s.Project != "" && s.ConnectionID == 0:
		return Invalid("project", "say whose project it is: name the connection too")
	case len(s.IssueType) > maxTicketLabel || strings.ContainsFunc(s.IssueType, IsControl):
		return Invalid("issue_type", "the type of issues is as Task or Bug")
	case len(s.Labels) > maxTicketLabels:
		return Invalid("labels", "%d labels given; %d are allowed", len(s.Labels), maxTicketLabels)
	}
	for _, l := range s.Labels {
		if l == "" || utf8.RuneCountInString(l) > maxTicketLabel || strings.ContainsAny(l, " ,\t") ||
			strings.ContainsFunc(l, IsControl) {
			return Invalid("labels",
				"%.60q will not do: a label has %d characters at most, and neither spaces nor commas", l, maxTicketLabel)
		}
	}
	return nil
}
