package model

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// ChangeState is how far a change request came.
type ChangeState uint8

// States of a change request. The numbers are stored: never give one another meaning.
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
	Title        string // others wrote it
	Author       string // the login
	WebURL       string
	State        ChangeState
	HeadCommit   string // the newest one that is proposed
	HeadRef      string // its branch, without refs/heads/; of another repository where Fork
	FetchRef     string // under which the repository itself has the head, as refs/pull/3/head
	BaseRef      string // the branch it is to go to, without refs/heads/
	BaseCommit   string // where both part; empty: the host did not say
	Fork         bool   // the head is of another repository
	UpdatedAt    time.Time
}

// ReplyPolicy says whose replies to our comments at a host decide about findings. Who
// replies must be allowed to write to the repository whatever it is.
type ReplyPolicy uint8

// Policies of replies. The numbers are stored: never give one another meaning.
const (
	RepliesLinked        ReplyPolicy = iota + 1 // those of people who are linked to a user that may triage
	RepliesCollaborators                        // of all others who may write to the repository, too
	RepliesOff                                  // nobody's
)

var replyPolicies = enumNames[ReplyPolicy]{"", "linked", "collaborators", "off"}

// String returns the wire name.
func (p ReplyPolicy) String() string { return replyPolicies.name(p) }

// ParseReplyPolicy reads a wire name.
func ParseReplyPolicy(s string) (ReplyPolicy, bool) { return replyPolicies.parse(s) }

// Widens reports whether a policy lets somebody decide whom the one before did not.
func (p ReplyPolicy) Widens(before ReplyPolicy) bool {
	return p != before && (before == RepliesOff || p == RepliesCollaborators)
}

// ReplyPolicies lists the policies.
func ReplyPolicies() []ReplyPolicy {
	return []ReplyPolicy{RepliesLinked, RepliesCollaborators, RepliesOff}
}

// HostPerson is a user, and who that is at a host.
type HostPerson struct {
	User string `json:"user"`
	ID   string `json:"id,omitempty"` // the host's; empty: it was linked before that was kept, or has not been asked for
}

// UnmarshalJSON also reads the name of a user alone, as links once were kept.
func (p *HostPerson) UnmarshalJSON(b []byte) error {
	*p = HostPerson{}
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &p.User)
	}
	type plain HostPerson
	return json.Unmarshal(b, (*plain)(p))
}

// HostPeople are users by the names that they have at a host, in lower case: hosts make
// no difference there.
type HostPeople map[string]HostPerson

// UserOf finds the user whom a name at the host was linked to. Who has the name by now may
// be another: PersonOf tells.
func (p HostPeople) UserOf(login string) (user string, ok bool) {
	found, ok := p[strings.ToLower(login)]
	return found.User, ok
}

// PersonOf finds who somebody at the host is, by their name and the host's id of them. Who
// was linked is that whatever they are called by now, and who took their name is not. A
// link without an id is returned as it is: nobody knows who was meant.
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

// Since sorts out which links are new: those that others of before have with the same user
// get the id of then.
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

// Remove forgets a name at the host.
func (p HostPeople) Remove(login string) { delete(p, hostLogin(login)) }

func hostLogin(s string) string {
	return strings.ToLower(strings.TrimPrefix(strings.TrimSpace(s), "@"))
}

// Bounds of the people of a connection.
const (
	MaxHostPeople    = 1000
	MaxNewHostPeople = 100 // in one change: the host is asked who each is
	maxHostLogin     = 255
)

// ParseHostPeople reads lines as "octocat = ada": who has the name octocat at the host is
// the user ada. Empty lines are passed over.
func ParseHostPeople(lines []string) (HostPeople, error) {
	out := HostPeople{}
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		login, user, is := strings.Cut(line, "=")
		if !is {
			return nil, Invalid("people",
				"%.80q will not do: a line is as octocat = ada, the name at the host and the user here", line)
		}
		if err := out.Add(login, user); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Add links a name at the host to a user. Whether there is such a user it does not know.
func (p HostPeople) Add(login, user string) error {
	valid := utf8.ValidString(login)
	login, user = hostLogin(login), NormalUserName(user)
	forbidden := func(r rune) bool { return IsControl(r) || r == ' ' || r == '=' }
	switch _, had := p[login]; {
	case login == "" || len(login) > maxHostLogin || !valid || strings.ContainsFunc(login, forbidden):
		return Invalid("people", "%.80q is no name of somebody at the host", login)
	case CheckUserName(user) != nil:
		return Invalid("people", "%.80q is no name of a user: Settings → Users lists them", user)
	case had:
		return Invalid("people", "%.80q is named twice", login)
	case len(p) >= MaxHostPeople:
		return Invalid("people", "%d people can be linked at most", MaxHostPeople)
	}
	p[login] = HostPerson{User: user}
	return nil
}
