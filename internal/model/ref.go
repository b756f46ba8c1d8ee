package model

import (
	"fmt"
	"strings"
)

// DefaultRefFilter is the spelling that some clients send for "no filter"
// (semantics §4).
const DefaultRefFilter = "_default"

// FullRef returns a branch or ref in full: main becomes refs/heads/main, what
// starts with refs/ stays, and none is HEAD (semantics §4).
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
