package model

import (
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// TicketState is the state of a ticket, as last reported by its tracker.
type TicketState uint8

// States of a ticket. The numbers are stored and must not change.
const (
	TicketUnknown   TicketState = iota + 1 // linked by URL; no connection can access its tracker
	TicketRequested                        // requested but not created yet
	TicketOpen
	TicketClosed
	TicketFailed // could not be created, see Problem
)

var ticketStates = enumNames[TicketState]{"", "unknown", "requested", "open", "closed", "failed"}

// String returns the wire name.
func (s TicketState) String() string { return ticketStates.name(s) }

// Ticket is an issue in a tracker that findings are linked to. A finding has at most one, across
// refs.
type Ticket struct {
	ID    int64
	State TicketState
	URL   string // empty until it is created
	Slug  string // display name, such as SEC-12 or acme/app#7; empty until it is created
	// ConnectionID is the connection to its tracker, or 0 if there is none.
	ConnectionID int64
	Project      string // in the tracker: full name of a repository, or a Jira key
	Key          string // in the tracker: issue number, or a key such as SEC-12
	Marker       string // written to created tickets to find them again; empty for linked ones
	Problem      string // error of its creation or of the last request, for display
	CreatedAt    time.Time
	CreatedBy    Actor
	CheckedAt    time.Time // last request to the tracker; zero if never
}

// Created reports whether the ticket exists in its tracker.
func (t Ticket) Created() bool { return t.URL != "" }

// TicketFinding is a finding linked to a ticket.
type TicketFinding struct {
	TicketID  int64
	FindingID int64 // as requested; the link applies to its lineage
	LineageID int64
	ProjectID int64
}

// TicketSetting defines where tickets of a deployment are created, and with which values.
type TicketSetting struct {
	ConnectionID int64 `json:"connection_id"` // 0 for that of each project's repository
	// Project is the full name of a repository or a Jira key. Empty means the project's own
	// repository.
	Project   string   `json:"project"`
	IssueType string   `json:"issue_type"` // for Jira; empty for Task
	Labels    []string `json:"labels"`
	Public    bool     `json:"public"` // whether tickets may be created in public repositories
}

// Limits of tickets.
const (
	// MaxTicketFindings is the maximum number of findings per ticket.
	MaxTicketFindings = 100
	// MaxTicketSelection is the maximum number of findings per request to create tickets, by the
	// contract.
	MaxTicketSelection = 20

	maxTicketURL     = 2048
	maxTicketLabels  = 20
	maxTicketLabel   = 50
	maxTicketProject = 500
)

// ParseTicketURL parses the URL of a ticket. It derives the display name from the URL formats of
// GitHub, GitLab, Gitea and Jira, and otherwise uses the last path segment.
func ParseTicketURL(address string) (t Ticket, err error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || len(address) > maxTicketURL || !utf8.ValidString(address) ||
		strings.ContainsFunc(address, IsControl):
		return t, Invalid("ticket_url",
			"enter a URL of at most %d characters, such as https://tracker.example.com/browse/SEC-12", maxTicketURL)
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return t, Invalid("ticket_url", "the URL must begin with https:// or http:// and name a host")
	case u.User != nil:
		return t, Invalid("ticket_url", "the URL must not contain a user or password")
	}
	if name := secretParameter(u); name != "" {
		return t, Invalid("ticket_url",
			"the URL must not contain a secret: remove the parameter %.60q and its value", name)
	}
	t = Ticket{State: TicketUnknown, URL: address}
	t.Project, t.Key = ticketIn(strings.Split(strings.Trim(u.Path, "/"), "/"))
	switch {
	case t.Key == "":
		t.Slug = lastOf(strings.Trim(u.Path, "/"), u.Hostname())
	case strings.HasPrefix(t.Key, t.Project+"-"): // Jira
		t.Slug = t.Key
	default:
		t.Slug = t.Project + "#" + t.Key
	}
	t.Slug = TicketSlug(t.Slug)
	return t, nil
}

// secretParameter returns the name of a parameter in the path, query or fragment that appears to
// contain a secret, or "".
func secretParameter(u *url.URL) string {
	text := u.Path + "?" + unescapedPairs(u.RawQuery) + "#" + u.Fragment
	for _, pair := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("/?&;#", r) }) {
		if name, value, _ := strings.Cut(pair, "="); value != "" && isSecretName(name) {
			return name
		}
	}
	return ""
}

// unescapedPairs returns the query unescaped, except for pairs with invalid escapes.
func unescapedPairs(query string) string {
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		if plain, err := url.QueryUnescape(pair); err == nil {
			pairs[i] = plain
		}
	}
	return strings.Join(pairs, "&")
}

// Words in names of secret parameters. secretNameParts match anywhere in the name without
// punctuation. secretNames must match exactly, because they are part of harmless words.
var (
	secretNameParts = []string{
		"token", "secret", "password", "passwd", "passphrase", "pwd", "credential", "authorization", "signature", "sessionid",
		"sessid", "jwt", "apikey", "accesskey", "privatekey", "authkey",
	}
	secretNames = []string{"auth", "sig", "sid", "pass", "session"}
)

// isSecretName reports whether a name denotes a secret, such as access_token or X-Api-Key.
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

// TicketSlug returns a display name of at most 200 characters on one line.
func TicketSlug(s string) string { return cutRunes(Line(s), 200) }

// ticketIn returns the project and the key in the nonempty segments of a path.
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

// isJiraKey reports whether a text has the form SEC-12.
func isJiraKey(s string) bool {
	project, number, found := strings.Cut(s, "-")
	return found && IsJiraProject(project) && isNumber(number)
}

// IsJiraProject reports whether a text has the form of a Jira project key, such as SEC.
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

// Check validates a setting.
func (s TicketSetting) Check() error {
	switch {
	case len(s.Project) > maxTicketProject || strings.ContainsFunc(s.Project, IsControl):
		return Invalid("project", "invalid project: use acme/app, or SEC for Jira")
	case s.Project != "" && s.ConnectionID == 0:
		return Invalid("project", "select the connection of the project")
	case len(s.IssueType) > maxTicketLabel || strings.ContainsFunc(s.IssueType, IsControl):
		return Invalid("issue_type", "invalid issue type: use a name such as Task or Bug")
	case len(s.Labels) > maxTicketLabels:
		return Invalid("labels", "%d labels given; the limit is %d", len(s.Labels), maxTicketLabels)
	}
	for _, l := range s.Labels {
		if l == "" || utf8.RuneCountInString(l) > maxTicketLabel || strings.ContainsAny(l, " ,\t") ||
			strings.ContainsFunc(l, IsControl) {
			return Invalid("labels",
				"invalid label %.60q: use at most %d characters without spaces or commas", l, maxTicketLabel)
		}
	}
	return nil
}
