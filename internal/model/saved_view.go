package model

import (
	"strings"
	"time"
	"unicode/utf8"
)

// SavedView is a list of findings that people come back to: what it selects, its order and
// its columns, under a name. It is one person's, or the deployment's.
type SavedView struct {
	ID        int64
	Name      string
	IssueType IssueType
	// OwnerID is the user whose it is, whom alone it shows to; 0: the deployment's.
	OwnerID int64
	// Query is that of the findings page, as severities=high&sort=due, in the one spelling
	// that the page has for it.
	Query     string
	CreatedAt time.Time
	CreatedBy Actor
	// Default is whether the page of its issue type opens with it, for who asks.
	Default bool
}

// Shared reports whether it is the deployment's.
func (v SavedView) Shared() bool { return v.OwnerID == 0 }

// Bounds of saved views.
const (
	MaxSavedViews      = 100 // of one person
	MaxSharedViews     = 200 // of a deployment
	MaxSavedViewName   = 100 // characters
	MaxSavedViewQuery  = 2000
	maxSavedViewValues = 100 // words of a query
)

// CheckSavedView says what is wrong with a view that somebody asks for, but for what its
// query means.
func CheckSavedView(v SavedView) error {
	n := utf8.RuneCountInString(v.Name)
	switch {
	case strings.TrimSpace(v.Name) == "" || n > MaxSavedViewName || HasControls(v.Name):
		return Invalid("name", "give the view a name of %d characters at most", MaxSavedViewName)
	case v.IssueType.String() == "":
		return Invalid("issue_type", "the issue type is one of sast, sca and secrets")
	case len(v.Query) > MaxSavedViewQuery || HasControls(v.Query):
		return Invalid("query", "the query is one of %d bytes at most", MaxSavedViewQuery)
	case strings.Count(v.Query, "&") >= maxSavedViewValues:
		return Invalid("query", "the query has %d words at most", maxSavedViewValues)
	}
	return nil
}
