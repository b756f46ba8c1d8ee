package redoubt

import "strings"

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
