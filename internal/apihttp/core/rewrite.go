package core

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// canonicalPath rewrites all spellings of a path to the one that the router matches. It collapses
// repeated slashes and removes a trailing one, without a redirect, which would lose the body. It
// escapes the slashes of a project's name, because routers cannot match them
// (docs/reference/addressing.md).
func canonicalPath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		escaped := r.URL.EscapedPath()
		want := joinProjectName(r.Method, plainSlashes(escaped))
		if relative(want) {
			unmatched(w, r)
			return
		}
		if want == escaped {
			next.ServeHTTP(w, r)
			return
		}
		plain, err := url.PathUnescape(want)
		if err != nil { // impossible: the server already unescaped the path
			writeProblem(w, r, ProblemOf(err))
			return
		}
		moved := r.WithContext(r.Context())
		moved.URL = new(url.URL)
		*moved.URL = *r.URL
		moved.URL.Path, moved.URL.RawPath = plain, want
		next.ServeHTTP(w, moved)
	})
}

// relative reports whether a path contains . or .. segments. The router would redirect them, which
// loses bodies; the server never generates such paths.
func relative(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == "." || part == ".." {
			return true
		}
	}
	return false
}

// plainSlashes collapses repeated slashes and removes the trailing slash of API paths.
func plainSlashes(path string) string {
	path = collapseSlashes(path)
	if strings.HasPrefix(path, "/api/") && len(path) > len("/api/") {
		path = strings.TrimSuffix(path, "/")
	}
	return path
}

// collapseSlashes replaces repeated slashes by one.
func collapseSlashes(path string) string {
	if !strings.Contains(path, "//") {
		return path
	}
	var b strings.Builder
	for i := range len(path) {
		if path[i] != '/' || i == 0 || path[i-1] != '/' {
			b.WriteByte(path[i])
		}
	}
	return b.String()
}

// ofProjects are the methods of …/projects/{name}.
var ofProjects = []string{http.MethodGet, http.MethodHead, http.MethodPatch, http.MethodDelete}

// joinProjectName escapes the slashes of …/deployments/{d}/projects/{name}. A last segment such as
// tags is a sub-resource if at least two segments precede it, or if projects do not support the
// method.
func joinProjectName(method, path string) string {
	rest, ok := strings.CutPrefix(path, "/api/v1/deployments/")
	if !ok {
		return path
	}
	deployment, rest, ok := strings.Cut(rest, "/")
	if !ok {
		return path
	}
	name, ok := strings.CutPrefix(rest, "projects/")
	if !ok || name == "" {
		return path
	}
	for _, part := range model.ProjectParts {
		part = "/" + part
		if before, is := strings.CutSuffix(name, part); is &&
			(segments(before) >= 2 || !slices.Contains(ofProjects, method)) {
			return "/api/v1/deployments/" + deployment + "/projects/" + escapeSlashes(before) + part
		}
	}
	return "/api/v1/deployments/" + deployment + "/projects/" + escapeSlashes(name)
}

// segments counts the segments of a name, separated by raw or escaped slashes.
func segments(name string) int {
	return 1 + strings.Count(name, "/") + strings.Count(strings.ToUpper(name), "%2F")
}

func escapeSlashes(name string) string { return strings.ReplaceAll(name, "/", "%2F") }
