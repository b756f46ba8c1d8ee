package weblink

import (
	"net/url"
	"strings"
)

// URL returns the web address of a repository from its clone address. It replaces ssh with https
// and removes credentials, the default port and the .git suffix. It is empty for any other address.
func URL(repository string) string {
	u, err := url.Parse(withScheme(strings.TrimSpace(repository)))
	if err != nil || u.Hostname() == "" {
		return ""
	}
	switch u.Scheme {
	case "http", "https":
	case "ssh", "git", "git+ssh":
		u.Scheme, u.Host = "https", u.Hostname() // the port is that of ssh
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

// defaultPorts are the default ports by scheme.
var defaultPorts = map[string]string{"http": ":80", "https": ":443"}

// withScheme expands the short form of ssh addresses: user@host:path.
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

// browsable converts the clone paths of hosts whose pages have other paths.
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
