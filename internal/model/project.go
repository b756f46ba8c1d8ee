package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of a project's fields (docs/reference/projects.md).
const (
	MaxTags      = 10
	MaxTagLength = 64 // characters
)

// Visibility is the visibility of a repository at its host.
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

// ParseVisibility parses a wire name.
func ParseVisibility(s string) (Visibility, bool) { return visibilities.parse(s) }

// ManagedScan defines which scans the server starts.
type ManagedScan struct {
	Diff bool
	Full bool
}

// Project is a repository, or a separately scanned part of one.
type Project struct {
	ID            int64    // global, fits uint32
	Name          string   // at least two segments, such as acme/payments
	OldNames      []string // former names that still resolve; set in a Batch only
	URL           string   // absolute, or empty if no scan reported it
	Tags          []string
	CreatedAt     time.Time
	DefaultBranch string    // full ref of the first branch with a full scan; empty before
	PrimaryBranch string    // full ref; empty for the default branch
	LatestScanAt  time.Time // zero before the first scan
	Visibility    Visibility
	ManagedScan   ManagedScan
	RepoID        string // ID at the host, which identifies a renamed repository
	// BoundRepoID is the ID as reported by tokens that are restricted to projects. It is compared
	// only with IDs from such tokens. See ProjectGlobs.Claim.
	BoundRepoID string
}

// Default returns the default branch. It is refs/heads/main until a branch has a full scan
// (docs/reference/projects.md).
func (p Project) Default() string {
	if p.DefaultBranch == "" {
		return "refs/heads/main"
	}
	return p.DefaultBranch
}

// Primary returns the branch that dependencies, dedup and the gate use.
func (p Project) Primary() string {
	if p.PrimaryBranch == "" {
		return p.Default()
	}
	return p.PrimaryBranch
}

// maxProjectURL is the maximum length of a repository URL in bytes.
const maxProjectURL = 2048

// CheckProjectURL returns an error if a repository URL is longer than 2,048 bytes.
func CheckProjectURL(address string) error {
	if len(address) > maxProjectURL {
		return fmt.Errorf("must have at most %d bytes", maxProjectURL)
	}
	return nil
}

// CheckProjectName validates a project name. A name has at least two segments. Segments are not
// empty, "." or "..", and contain no control characters (docs/reference/addressing.md).
func CheckProjectName(name string) error {
	if len(name) > 512 || !utf8.ValidString(name) {
		return errors.New("a project name must be valid UTF-8 of at most 512 bytes")
	}
	if strings.ContainsFunc(name, IsControl) {
		return errors.New("a project name must not contain control characters")
	}
	segments := strings.Split(name, "/")
	if len(segments) < 2 {
		return fmt.Errorf("project name %q needs two or more segments, such as acme/payments", name)
	}
	for _, s := range segments {
		if s == "" || s == "." || s == ".." {
			return fmt.Errorf("project name %q has an empty or relative segment", name)
		}
	}
	return nil
}

// ProjectParts contains the last path segments of subresources of a project.
var ProjectParts = []string{"managed-scan", "tags"}

// CheckNewProjectName validates the name of a new project. In addition to CheckProjectName, it
// rejects a last segment after two others that conflicts with a subresource of another project.
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

// NormalTags returns the tags without surrounding space, control characters, empty tags and
// duplicates. It returns an error for more than MaxTags tags, or tags longer than MaxTagLength
// (docs/reference/projects.md).
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

// DefaultRefFilter is sent by some clients for "no filter" (docs/reference/addressing.md).
const DefaultRefFilter = "_default"

// FullRef returns the full name of a branch or ref (docs/reference/addressing.md). main becomes
// refs/heads/main, names that start with refs/ are unchanged, and an empty name becomes HEAD.
func FullRef(ref string) string {
	switch {
	case ref == "" || ref == "HEAD":
		return "HEAD"
	case strings.HasPrefix(ref, "refs/"):
		return ref
	}
	return "refs/heads/" + ref
}

// CoversRef reports whether one of the globs matches a full ref, by its branch name (release/*) or
// its full name (refs/pull/**). An empty list matches every ref.
func CoversRef(globs ProjectGlobs, ref string) bool {
	return globs.Allows(strings.TrimPrefix(ref, "refs/heads/")) || globs.Allows(ref)
}

// maxRef is the maximum length of a ref in bytes.
const maxRef = 512

// CheckRef validates the name of a ref or commit.
func CheckRef(ref string) error {
	if len(ref) > maxRef || HasControls(ref) {
		return fmt.Errorf("must be UTF-8 without control characters, of at most %d bytes", maxRef)
	}
	return nil
}
