package core

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// canonicalPath lets one plain pattern serve all spellings of a path: it
// collapses repeated slashes and drops the last one, without a redirect that
// would lose a body, and turns the slashes of a project's name into %2F, which no router does
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
		if err != nil { // cannot be: the server unescaped the path already
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

// relative reports whether a path has . or .. in it. The router would redirect,
// which loses bodies; nothing of ours is written so.
func relative(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == "." || part == ".." {
			return true
		}
	}
	return false
}

// plainSlashes has no slash twice, and none at the end of what the API has.
func plainSlashes(path string) string {
	path = collapseSlashes(path)
	if strings.HasPrefix(path, "/api/") && len(path) > len("/api/") {
		path = strings.TrimSuffix(path, "/")
	}
	return path
}

// collapseSlashes makes one slash of several.
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

// joinProjectName escapes the slashes of …/deployments/{d}/projects/{name}. A
// last segment managed-scan or tags is no part of the name where one of two
// segments or more stands before it, or where no project has the method.
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

// segments counts the parts of a name between slashes, raw or escaped.
func segments(name string) int {
	return 1 + strings.Count(name, "/") + strings.Count(strings.ToUpper(name), "%2F")
}

func escapeSlashes(name string) string { return strings.ReplaceAll(name, "/", "%2F") }
