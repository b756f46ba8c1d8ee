package redoubt

import (
	"strings"
	"unicode/utf8"
)

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

// ReplyPolicies lists the policies.
func ReplyPolicies() []ReplyPolicy {
	return []ReplyPolicy{RepliesLinked, RepliesCollaborators, RepliesOff}
}

// HostPeople are users by the names that they have at a host, in lower case: hosts make
// no difference there.
type HostPeople map[string]string

// UserOf finds the user who has a name at the host.
func (p HostPeople) UserOf(login string) (user string, ok bool) {
	user, ok = p[strings.ToLower(login)]
	return user, ok
}

// Remove forgets a name at the host.
func (p HostPeople) Remove(login string) { delete(p, hostLogin(login)) }

func hostLogin(s string) string {
	return strings.ToLower(strings.TrimPrefix(strings.TrimSpace(s), "@"))
}

// Bounds of the people of a connection.
const (
	MaxHostPeople = 1000
	maxHostLogin  = 255
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
			return nil, Invalid("people", "%.80q will not do: a line is as octocat = ada, the name at the host and the user here", line)
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
	switch _, had := p[login]; {
	case login == "" || len(login) > maxHostLogin || !valid || strings.ContainsFunc(login, func(r rune) bool { return IsControl(r) || r == ' ' || r == '=' }):
		return Invalid("people", "%.80q is no name of somebody at the host", login)
	case CheckUserName(user) != nil:
		return Invalid("people", "%.80q is no name of a user: Settings → Users lists them", user)
	case had:
		return Invalid("people", "%.80q is named twice", login)
	case len(p) >= MaxHostPeople:
		return Invalid("people", "%d people can be linked at most", MaxHostPeople)
	}
	p[login] = user
	return nil
}
