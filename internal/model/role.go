package model

// Role is what a person may do in a deployment. A higher role may all that a
// lower one may.
type Role uint8

// Roles, least first. The numbers are stored: never give one another meaning.
const (
	RoleNone    Role = iota // nothing: the deployment is as if it did not exist
	RoleViewer              // reads
	RoleTriager             // decides about findings too, and hands in scans
	RoleAdmin               // and manages projects, policies, tokens and people
)

var roleNames = enumNames[Role]{"", "viewer", "triager", "admin"}

// String returns the name, lower case; empty for none.
func (r Role) String() string { return roleNames.name(r) }

// ParseRole reads a lower-case name. The empty name is no role.
func ParseRole(s string) (Role, bool) { return roleNames.parse(s) }

// Roles lists the roles that a user can have, least first.
func Roles() []Role { return []Role{RoleViewer, RoleTriager, RoleAdmin} }
