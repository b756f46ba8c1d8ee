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

// The credentials of an address: all before the host, or of ssh, which needs the user, the password.
var (
	httpCredentials = regexp.MustCompile(`(?i)^((?:git\+)?https?://)[^/\n]*@`)
	passwordOf      = regexp.MustCompile(`^([\w+]+://[^/:@\n]*):[^/\n]*@`)
)

// withoutCredentials removes the credentials from a repository's address.
func withoutCredentials(address string) string {
	return passwordOf.ReplaceAllString(httpCredentials.ReplaceAllString(strings.TrimSpace(address), "$1"), "$1@")
}

// drive matches a folder of Windows, which reads like the host C of ssh.
var drive = regexp.MustCompile(`^[A-Za-z]:/`)

// maxAddress bounds an address, as it is bounded where the semgrep CLI reads it.
const maxAddress = 1024

// NameOf is the project that a repository's address names, all folders above it
// included: group/sub/repo. It is empty for what is no address with both.
func NameOf(address string) string {
	address = strings.TrimSuffix(strings.TrimSuffix(withoutCredentials(address), "/"), ".git")
	if address == "" || len(address) > maxAddress || drive.MatchString(address) {
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
