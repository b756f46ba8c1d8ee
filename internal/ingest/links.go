package ingest

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt"
)

// Links makes addresses of lines at a project's code host. The zero Links knows
// no host and makes none.
type Links struct {
	base     string // web address of the repository, without a slash at its end
	host     string
	revision string // commit, or branch; escaped
	branch   bool
}

// NewLinks returns the links into a repository at a commit or, where none is
// known, at the branch that ref names. An address that is not http or https
// gives the zero Links.
func NewLinks(repository, commit, ref string) Links {
	base := WebURL(repository)
	if base == "" {
		return Links{}
	}
	u, err := url.Parse(base)
	if err != nil {
		return Links{}
	}
	l := Links{base: base, host: strings.ToLower(u.Hostname()), revision: escapePath(commit)}
	if branch, ok := strings.CutPrefix(ref, "refs/heads/"); ok && commit == "" {
		l.revision, l.branch = escapePath(branch), true
	}
	return l
}

// WebURL returns the address under which people read a repository, from one
// that git clones: https for ssh, and neither credentials nor the .git suffix.
// It is empty for anything else.
func WebURL(repository string) string {
	repository = strings.TrimSpace(repository)
	if user, rest, ok := strings.Cut(repository, "@"); ok && !strings.Contains(repository, "://") && !strings.ContainsAny(user, "/:") {
		host, path, ok := strings.Cut(rest, ":")
		if !ok {
			return ""
		}
		repository = "https://" + host + "/" + path
	}
	u, err := url.Parse(repository)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	switch u.Scheme {
	case "http", "https":
	case "ssh", "git":
		u.Scheme, u.Host = "https", u.Hostname()
	default:
		return ""
	}
	u.User, u.RawQuery, u.Fragment, u.RawFragment = nil, "", "", ""
	return strings.TrimSuffix(strings.TrimRight(u.String(), "/"), ".git")
}

// Line returns the address of a line, 1-based; 0 is the file as a whole. It is
// empty where the repository or what of it was scanned is unknown. Hosts that
// are not known are taken for GitHub's style, which most of them understand.
func (l Links) Line(path string, line int) string {
	if l.base == "" || l.revision == "" || path == "" {
		return ""
	}
	path = escapePath(path)
	n := strconv.Itoa(line)
	switch l.style() {
	case gitlab:
		return l.base + "/-/blob/" + l.revision + "/" + path + fragment("#L", line)
	case bitbucket:
		return l.base + "/src/" + l.revision + "/" + path + fragment("#lines-", line)
	case bitbucketServer:
		return l.base + "/browse/" + path + "?at=" + url.QueryEscape(unescape(l.revision)) + fragment("#", line)
	case azure:
		kind := "GC"
		if l.branch {
			kind = "GB"
		}
		address := l.base + "?path=" + url.QueryEscape("/"+unescape(path)) + "&version=" + kind + url.QueryEscape(unescape(l.revision))
		if line > 0 {
			address += "&line=" + n + "&lineEnd=" + n + "&lineStartColumn=1&lineEndColumn=1"
		}
		return address
	case gitea:
		kind := "commit"
		if l.branch {
			kind = "branch"
		}
		return l.base + "/src/" + kind + "/" + l.revision + "/" + path + fragment("#L", line)
	}
	return l.base + "/blob/" + l.revision + "/" + path + fragment("#L", line)
}

// content is a result's digest together with what its body says beyond it: the
// repository. The commit is no part, or each scan would write every body anew.
func (l Links) content(result redoubt.Digest) redoubt.Digest {
	if l.base == "" {
		return result
	}
	var d digester
	return d.start("linked").digest(result).str(l.base).sum()
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

// style guesses the software of a host by its name.
func (l Links) style() hostStyle {
	switch {
	case strings.Contains(l.host, "gitlab"):
		return gitlab
	case l.host == "bitbucket.org":
		return bitbucket
	case strings.Contains(l.host, "bitbucket"), strings.Contains(l.host, "stash"):
		return bitbucketServer
	case l.host == "dev.azure.com", strings.HasSuffix(l.host, ".visualstudio.com"):
		return azure
	case strings.Contains(l.host, "gitea"), strings.Contains(l.host, "forgejo"), l.host == "codeberg.org":
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

// escapePath escapes each segment.
func escapePath(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.Join(segments, "/")
}

func unescape(path string) string {
	if plain, err := url.PathUnescape(path); err == nil {
		return plain
	}
	return path
}
