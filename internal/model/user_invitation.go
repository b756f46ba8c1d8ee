package model

import "time"

// UserInvitation asks a person into a deployment. Nothing holds until they
// accept it: who invites learns nothing of the users of other deployments, not
// even whether there is one of that name.
type UserInvitation struct {
	ID         int64
	Deployment Deployment
	// Name is that of the user who may accept it, as whoever invites typed it.
	// There need be none.
	Name string
	// NewName is that of the user whom its link makes; see NewUserName.
	NewName     string
	DisplayName string // of the user whom its link makes
	Role        Role
	InvitedBy   string // as others see them
	CreatedAt   time.Time
	ExpiresAt   time.Time
}

// NewUserName is the name of a user who is made at a page of a deployment that
// shares the server with others: what was typed, with the deployment's slug behind
// it. So it is never one that somebody of another deployment has, and whether it
// can be had tells nothing of them.
func NewUserName(typed, slug string) string {
	end := "@" + slug
	typed = NormalUserName(typed)
	if len(typed) > len(end) && typed[len(typed)-len(end):] == end {
		return typed
	}
	return typed + end
}

// CheckNewUserName says what is wrong with a name that was typed, of which
// NewUserName makes another: both are names.
func CheckNewUserName(typed, slug string) error {
	typed = NormalUserName(typed)
	if err := CheckUserName(typed); err != nil {
		return err
	}
	made := NewUserName(typed, slug)
	if over := len(made) - maxUserName; over > 0 {
		return Invalid("name",
			"it has %d characters, and at most %d are left for it: with @%s behind it, it would be too long",
			len(typed), len(typed)-over, slug)
	}
	return CheckUserName(made)
}
