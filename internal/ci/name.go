package ci

import (
	"regexp"
	"strings"
)

// Forms of a repository's URL that Git accepts: with a scheme, and host:path for SSH.
var (
	withScheme = regexp.MustCompile(`^(?:git\+)?(?:https?|git|ssh|rsync)://(?:[^\n@]+@)?[\w.\-]*(?::\d+)?/+(?:([\w\-%/~.]+)/)?([\w\-%~.]+)$`)
	asSSH      = regexp.MustCompile(`^(?:[^\n@]+@)?[\w.\-]*:(?:\d+/)?/?(.+)/([^/]+)$`)
)

// Credentials in a URL: all text before the host for HTTP, and the password for SSH, which needs
// the user.
var (
	httpCredentials = regexp.MustCompile(`(?i)^((?:git\+)?https?://)[^/\n]*@`)
	passwordOf      = regexp.MustCompile(`^([\w+]+://[^/:@\n]*):[^/\n]*@`)
)

// withoutCredentials removes the credentials from a repository's URL.
func withoutCredentials(address string) string {
	return passwordOf.ReplaceAllString(httpCredentials.ReplaceAllString(strings.TrimSpace(address), "$1"), "$1@")
}

// drive matches a Windows path, which resembles the SSH host C.
var drive = regexp.MustCompile(`^[A-Za-z]:/`)

// maxAddress is the maximum length of a URL, the same as in the semgrep CLI.
const maxAddress = 1024

// NameOf returns the project in a repository's URL, including all parent directories, as in
// group/sub/repo. It returns "" if the URL has no owner or no name.
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
