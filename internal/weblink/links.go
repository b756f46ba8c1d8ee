// Package weblink builds web addresses of repositories, files and lines at code hosts from clone
// addresses. It removes credentials, sends no requests, and guesses the software of a host from its
// name.
package weblink

import (
	"net/url"
	"strconv"
	"strings"
)

// Links builds web addresses of lines in a repository. The zero Links returns empty addresses.
type Links struct {
	base     string // web address of the repository, without a trailing slash
	host     string
	revision string // commit or branch, escaped
	branch   bool
}

// New returns the links into a repository at a commit or, if commit is empty, at the branch of ref.
// It returns the zero Links if URL cannot convert the repository's address.
func New(repository, commit, ref string) Links {
	base := URL(repository)
	u, err := url.Parse(base)
	if base == "" || err != nil {
		return Links{}
	}
	l := Links{base: base, host: u.Hostname(), revision: escapePath(commit)}
	if branch, ok := strings.CutPrefix(ref, "refs/heads/"); ok && commit == "" {
		l.revision, l.branch = escapePath(branch), true
	}
	return l
}

// Repository returns the address of the repository's page. It is empty for the zero Links.
func (l Links) Repository() string { return l.base }

// Line returns the address of a line, 1-based; 0 is the whole file. It is empty if the repository,
// the revision or the path is unknown. Unknown hosts use GitHub's format, which most of them
// support.
func (l Links) Line(path string, line int) string {
	if l.base == "" || l.revision == "" || path == "" {
		return ""
	}
	file := l.revision + "/" + escapePath(path)
	switch styleOf(l.host) {
	case gitlab:
		return l.base + "/-/blob/" + file + fragment("#L", line)
	case bitbucket:
		return l.base + "/src/" + file + fragment("#lines-", line)
	case bitbucketServer:
		return l.base + "/browse/" + escapePath(path) + "?at=" + l.query() + fragment("#", line)
	case azure:
		return l.azure(path, line)
	case gitea:
		return l.base + "/src/" + l.kind("commit", "branch") + "/" + file + fragment("#L", line)
	}
	return l.base + "/blob/" + file + fragment("#L", line)
}

func (l Links) azure(path string, line int) string {
	address := l.base + "?path=" + url.QueryEscape("/"+path) + "&version=" + l.kind("GC", "GB") + l.query()
	if line > 0 {
		n := strconv.Itoa(line)
		address += "&line=" + n + "&lineEnd=" + n + "&lineStartColumn=1&lineEndColumn=1"
	}
	return address
}

// kind returns the host's word for the kind of the revision.
func (l Links) kind(commit, branch string) string {
	if l.branch {
		return branch
	}
	return commit
}

// query returns the revision as a query parameter.
func (l Links) query() string {
	plain, err := url.PathUnescape(l.revision)
	if err != nil {
		plain = l.revision
	}
	return url.QueryEscape(plain)
}

type hostStyle int

const (
	github hostStyle = iota
	gitlab
	bitbucket
	bitbucketServer
	azure
	gitea
)

// styleOf guesses the software of a host from its name.
func styleOf(host string) hostStyle {
	switch {
	case strings.Contains(host, "gitlab"):
		return gitlab
	case host == "bitbucket.org":
		return bitbucket
	case strings.Contains(host, "bitbucket"), strings.Contains(host, "stash"):
		return bitbucketServer
	case host == "dev.azure.com", strings.HasSuffix(host, ".visualstudio.com"):
		return azure
	case strings.Contains(host, "gitea"), strings.Contains(host, "forgejo"), host == "codeberg.org":
		return gitea
	}
	return github
}

func fragment(prefix string, line int) string {
	if line <= 0 {
		return ""
	}
	return prefix + strconv.Itoa(line)
}

// escapePath escapes each segment of a path.
func escapePath(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.Join(segments, "/")
}
