package model

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// ChangeState is the state of a change request.
type ChangeState uint8

// States of a change request. The numbers are stored and must not change.
const (
	ChangeOpen ChangeState = iota + 1
	ChangeMerged
	ChangeClosed
)

var changeStates = enumNames[ChangeState]{"", "open", "merged", "closed"}

// String returns the wire name.
func (s ChangeState) String() string { return changeStates.name(s) }

// ChangeRequest is a pull or merge request of a repository.
type ChangeRequest struct {
	RepositoryID int64
	Number       int64
	Title        string // untrusted text
	Author       string // login name at the host
	WebURL       string
	State        ChangeState
	HeadCommit   string // newest proposed commit
	HeadRef      string // source branch without refs/heads/; in another repository if Fork
	FetchRef     string // ref of the head in the target repository, such as refs/pull/3/head
	BaseRef      string // target branch without refs/heads/
	BaseCommit   string // merge base; empty if the host does not provide it
	Fork         bool   // the head is in another repository
	UpdatedAt    time.Time
}

// ReplyPolicy defines whose replies to comments at a code host may triage findings. Under every
// policy, the author must have write access to the repository.
type ReplyPolicy uint8

// Policies of replies. The numbers are stored and must not change.
const (
	RepliesLinked        ReplyPolicy = iota + 1 // authors linked to a user with the triager role
	RepliesCollaborators                        // also all other authors with write access
	RepliesOff                                  // no replies
)

var replyPolicies = enumNames[ReplyPolicy]{"", "linked", "collaborators", "off"}

// String returns the wire name.
func (p ReplyPolicy) String() string { return replyPolicies.name(p) }

// ParseReplyPolicy parses a wire name.
func ParseReplyPolicy(s string) (ReplyPolicy, bool) { return replyPolicies.parse(s) }

// Widens reports whether the policy accepts replies that the policy before rejected.
func (p ReplyPolicy) Widens(before ReplyPolicy) bool {
	return p != before && (before == RepliesOff || p == RepliesCollaborators)
}

// ReplyPolicies returns all policies.
func ReplyPolicies() []ReplyPolicy {
	return []ReplyPolicy{RepliesLinked, RepliesCollaborators, RepliesOff}
}

// HostPerson links an account at a code host to a user.
type HostPerson struct {
	User string `json:"user"`
	ID   string `json:"id,omitempty"` // account ID at the host; empty if unknown, as in links without stored IDs
}

// UnmarshalJSON also accepts a user name alone, which is the format of older links.
func (p *HostPerson) UnmarshalJSON(b []byte) error {
	*p = HostPerson{}
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &p.User)
	}
	type plain HostPerson
	return json.Unmarshal(b, (*plain)(p))
}

// HostPeople maps account names at a host, in lower case, to users. Hosts compare these names
// case-insensitively.
type HostPeople map[string]HostPerson

// UserOf returns the user linked to an account name. The name may have passed to another account:
// use PersonOf to check the ID.
func (p HostPeople) UserOf(login string) (user string, ok bool) {
	found, ok := p[strings.ToLower(login)]
	return found.User, ok
}

// PersonOf returns the link of an account, by its name and host ID. An ID matches regardless of
// renames, and a name with another ID does not match. A link without an ID is returned unverified.
func (p HostPeople) PersonOf(login, id string) (found HostPerson, ok bool) {
	if found, ok = p[strings.ToLower(login)]; ok && (found.ID == id || found.ID == "") {
		return found, true
	}
	for _, login := range slices.Sorted(maps.Keys(p)) {
		if id != "" && p[login].ID == id {
			return p[login], true
		}
	}
	return HostPerson{}, false
}

// Since merges the links with the previous ones. Unchanged links retain their stored ID. It returns
// all links and the names of the new or changed ones.
func (p HostPeople) Since(before HostPeople) (all HostPeople, fresh []string) {
	all = HostPeople{}
	for _, login := range slices.Sorted(maps.Keys(p)) {
		had, is := before[login]
		if all[login] = p[login]; is && had.User == p[login].User {
			all[login] = had
			continue
		}
		fresh = append(fresh, login)
	}
	return all, fresh
}

// Remove removes the link of an account name.
func (p HostPeople) Remove(login string) { delete(p, hostLogin(login)) }

func hostLogin(s string) string {
	return strings.ToLower(strings.TrimPrefix(strings.TrimSpace(s), "@"))
}

// Limits of the links of a connection.
const (
	MaxHostPeople    = 1000
	MaxNewHostPeople = 100 // per change, because the host is queried for each
	maxHostLogin     = 255
)

// ParseHostPeople parses lines such as "octocat = ada", which links the account octocat to the user
// ada. It skips empty lines.
func ParseHostPeople(lines []string) (HostPeople, error) {
	out := HostPeople{}
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		login, user, is := strings.Cut(line, "=")
		if !is {
			return nil, Invalid("people",
				"invalid line %.80q: use host account = user, such as octocat = ada", line)
		}
		if err := out.Add(login, user); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Add links an account name to a user. It does not check whether the user exists.
func (p HostPeople) Add(login, user string) error {
	valid := utf8.ValidString(login)
	login, user = hostLogin(login), NormalUserName(user)
	forbidden := func(r rune) bool { return IsControl(r) || r == ' ' || r == '=' }
	switch _, had := p[login]; {
	case login == "" || len(login) > maxHostLogin || !valid || strings.ContainsFunc(login, forbidden):
		return Invalid("people", "invalid host user name %.80q", login)
	case CheckUserName(user) != nil:
		return Invalid("people", "invalid user name %.80q: see Settings → Users", user)
	case had:
		return Invalid("people", "duplicate name %.80q", login)
	case len(p) >= MaxHostPeople:
		return Invalid("people", "at most %d people can be linked", MaxHostPeople)
	}
	p[login] = HostPerson{User: user}
	return nil
}
