package ci

import (
	"regexp"
	"strings"
)

// The spellings of a repository's address that git takes: with a scheme, and
// host:path as ssh has it.
var (
	withScheme = regexp.MustCompile(`^(?:git\+)?(?:https?|git|ssh|rsync)://(?:[^\n@]+@)?[\w.\-]*(?::\d+)?/+(?:([\w\-%/~.]+)/)?([\w\-%~.]+)$`)
	asSSH      = regexp.MustCompile(`^(?:[^\n@]+@)?[\w.\-]*:(?:\d+/)?/?(.+)/([^/]+)$`)
)

// maxAddress bounds an address, as it is bounded where the semgrep CLI reads it.
const maxAddress = 1024

// NameOf is the project that a repository's address names, all folders above it
// included: group/sub/repo. It is empty for what is no address with both.
func NameOf(address string) string {
	address = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(address), "/"), ".git")
	if address == "" || len(address) > maxAddress {
		return ""
	}
	expression := asSSH
	if strings.Contains(address, "://") {
		expression = withScheme
	}
	m := expression.FindStringSubmatch(address)
	if m == nil || m[1] == "" {
		return ""
	}
	return strings.TrimSuffix(m[1], "/_git") + "/" + m[2]
}
