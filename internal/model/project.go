package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of a project's members (docs/reference/projects.md).
const (
	MaxTags      = 10
	MaxTagLength = 64 // characters
)

// Visibility says who can see a repository at its host.
type Visibility uint8

// Visibilities of a repository.
const (
	VisibilityUnknown Visibility = iota
	VisibilityPublic
	VisibilityPrivate
)

var visibilities = enumNames[Visibility]{"unknown", "public", "private"}

// String returns the wire name.
func (v Visibility) String() string { return visibilities.name(v) }

// ParseVisibility reads a wire name.
func ParseVisibility(s string) (Visibility, bool) { return visibilities.parse(s) }

// ManagedScan says which scans the server would start by itself.
type ManagedScan struct {
	Diff bool
	Full bool
}

// Project is one repository, or one part of it that is scanned apart.
type Project struct {
	ID            int64    // global, fits uint32
	Name          string   // two segments or more, as acme/payments
	OldNames      []string // that answer still; a Batch has them, other lists do not
	URL           string   // absolute, or empty when no scan told it
	Tags          []string
	CreatedAt     time.Time
	DefaultBranch string    // full ref of the first branch fully scanned; empty before
	PrimaryBranch string    // full ref; empty follows the default branch
	LatestScanAt  time.Time // zero before the first scan
	Visibility    Visibility
	ManagedScan   ManagedScan
	RepoID        string // the host's own id, by which a renamed repository is known
	// BoundRepoID is the id as tokens tell it that are bound to projects: it
	// counts among them alone. See ProjectGlobs.Claim.
	BoundRepoID string
}

// Default returns the default branch, which is refs/heads/main until a branch
// was fully scanned (docs/reference/projects.md).
func (p Project) Default() string {
	if p.DefaultBranch == "" {
		return "refs/heads/main"
	}
	return p.DefaultBranch
}

// Primary returns the branch that dependencies, dedup and the gate look at.
func (p Project) Primary() string {
	if p.PrimaryBranch == "" {
		return p.Default()
	}
	return p.PrimaryBranch
}

// maxProjectURL bounds the address of a repository, in bytes.
const maxProjectURL = 2048

// CheckProjectURL returns an error for the address of a repository that is longer than
// 2,048 bytes, else nil.
func CheckProjectURL(address string) error {
	if len(address) > maxProjectURL {
		return fmt.Errorf("must have at most %d bytes", maxProjectURL)
	}
	return nil
}

// CheckProjectName says what is wrong with a project name, or nil. A name has
// two segments or more, none empty, "." or "..", and no control characters
// (docs/reference/addressing.md).
func CheckProjectName(name string) error {
	if len(name) > 512 || !utf8.ValidString(name) {
		return errors.New("a project name is valid UTF-8 of at most 512 bytes")
	}
	if strings.ContainsFunc(name, IsControl) {
		return errors.New("a project name holds no control characters")
	}
	segments := strings.Split(name, "/")
	if len(segments) < 2 {
		return fmt.Errorf("project name %q needs two segments or more, as acme/payments", name)
	}
	for _, s := range segments {
		if s == "" || s == "." || s == ".." {
			return fmt.Errorf("project name %q has an empty or relative segment", name)
		}
	}
	return nil
}

// ProjectParts are the last segments of addresses that name a part of a project.
var ProjectParts = []string{"managed-scan", "tags"}

// CheckNewProjectName reports why a project cannot be created with a name: besides
// the errors of CheckProjectName, a last segment after two others that makes its
// address the one of a part of another project.
func CheckNewProjectName(name string) error {
	if err := CheckProjectName(name); err != nil {
		return err
	}
	segments := strings.Split(name, "/")
	if last := segments[len(segments)-1]; len(segments) > 2 && slices.Contains(ProjectParts, last) {
		return fmt.Errorf("project name %.80q ends in a reserved segment: use another name than %q", name, last)
	}
	return nil
}

// NormalTags trims tags and drops empty and repeated ones, keeping the order, and
// what terminals would obey (IsControl).
// More than MaxTags, or one longer than MaxTagLength, is an error (docs/reference/projects.md).
func NormalTags(tags []string) ([]string, error) {
	out := make([]string, 0, len(tags))
	for _, tag := range tags {
		tag = strings.TrimSpace(Line(tag))
		if tag == "" || slices.Contains(out, tag) {
			continue
		}
		if utf8.RuneCountInString(tag) > MaxTagLength {
			return nil, fmt.Errorf("tag %.20q… is longer than %d characters", tag, MaxTagLength)
		}
		out = append(out, tag)
	}
	if len(out) > MaxTags {
		return nil, fmt.Errorf("%d tags given; a project has at most %d", len(out), MaxTags)
	}
	return out, nil
}

// DefaultRefFilter is the spelling that some clients send for "no filter"
// (docs/reference/addressing.md).
const DefaultRefFilter = "_default"

// FullRef returns a branch or ref in full: main becomes refs/heads/main, what
// starts with refs/ stays, and none is HEAD (docs/reference/addressing.md).
func FullRef(ref string) string {
	switch {
	case ref == "" || ref == "HEAD":
		return "HEAD"
	case strings.HasPrefix(ref, "refs/"):
		return ref
	}
	return "refs/heads/" + ref
}

// CoversRef reports whether one of the globs fits a ref, which is in full: by the name of its
// branch, as release/*, or by the ref, as refs/pull/**. No glob is every ref.
func CoversRef(globs ProjectGlobs, ref string) bool {
	return globs.Allows(strings.TrimPrefix(ref, "refs/heads/")) || globs.Allows(ref)
}

// maxRef is the longest name of a ref, in bytes.
const maxRef = 512

// CheckRef says what is wrong with the name of a ref, or of a commit, or nil.
func CheckRef(ref string) error {
	if len(ref) > maxRef || HasControls(ref) {
		return fmt.Errorf("must be UTF-8 without control characters, of at most %d bytes", maxRef)
	}
	return nil
}
