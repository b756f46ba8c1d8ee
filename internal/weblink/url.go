package weblink

import (
	"net/url"
	"strings"
)

// URL returns the address under which people read a repository, from one
// that git clones: https for ssh, and neither credentials, the default port nor the
// .git suffix.
// It is empty for anything else.
func URL(repository string) string {
	u, err := url.Parse(withScheme(strings.TrimSpace(repository)))
	if err != nil || u.Hostname() == "" {
		return ""
	}
	switch u.Scheme {
	case "http", "https":
	case "ssh", "git", "git+ssh":
		u.Scheme, u.Host = "https", u.Hostname() // the port is not the web's
	default:
		return ""
	}
	u.Host = strings.TrimSuffix(strings.ToLower(u.Host), defaultPorts[u.Scheme])
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), ".git")
	u.RawPath = ""
	u.Host, u.Path = browsable(u.Host, u.Path)
	return u.String()
}

// defaultPorts are the ports that an address need not name, by scheme.
var defaultPorts = map[string]string{"http": ":80", "https": ":443"}

// withScheme writes out the short form of ssh: user@host:path.
func withScheme(repository string) string {
	user, rest, ok := strings.Cut(repository, "@")
	if !ok || strings.ContainsAny(user, "/:") {
		return repository
	}
	host, path, ok := strings.Cut(rest, ":")
	if !ok || strings.Contains(host, "/") {
		return repository
	}
	return "ssh://" + host + "/" + strings.TrimPrefix(path, "/")
}

// browsable turns the paths of hosts that serve git elsewhere than their pages.
func browsable(host, path string) (string, string) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case host == "ssh.dev.azure.com" && len(parts) == 4 && parts[0] == "v3":
		return "dev.azure.com", "/" + parts[1] + "/" + parts[2] + "/_git/" + parts[3]
	case styleOf(host) == bitbucketServer && len(parts) == 3 && parts[0] == "scm":
		return host, "/projects/" + parts[1] + "/repos/" + parts[2]
	}
	return host, path
}
