package redoubt

// Role is what a person may do in a deployment. A higher role may all that a
// lower one may.
type Role uint8

// Roles, least first.
const (
	RoleViewer  Role = iota + 1 // reads
	RoleTriager                 // decides about findings too
	RoleAdmin                   // and manages projects, policies, tokens and people
)

var roles = words[Role]{"", "viewer", "triager", "admin"}

// String returns the name, lower case.
func (r Role) String() string { return roles.name(r) }

// ParseRole reads a lower-case name.
func ParseRole(s string) (Role, bool) { return roles.parse(s) }
