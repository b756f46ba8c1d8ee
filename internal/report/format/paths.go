package format

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// Checkout converts the paths of a report to paths of the repository.
type Checkout struct {
	roots []string           // absolute, clean, with a trailing slash; longest first
	known map[rawPath]string // resolved paths, cached because the results of a file are consecutive
}

// rawPath is a path as it is in the report.
type rawPath struct {
	raw   string
	isURI bool
}

// MaxPaths is the maximum number of cached paths.
const MaxPaths = 1000

// maxRoots is the maximum number of roots, each of which is compared with every absolute path.
const maxRoots = 100

// AddRoot adds a root, given as a path or file URI. A relative path and the root of the file system
// are ignored.
func (c *Checkout) AddRoot(folder string) {
	folder, err := Slashed(folder, strings.HasPrefix(folder, "file:"))
	if err != nil || !path.IsAbs(folder) || path.Clean(folder) == "/" || len(c.roots) == maxRoots {
		return
	}
	c.known = nil
	c.roots = append(c.roots, path.Clean(folder)+"/")
	slices.SortFunc(c.roots, func(a, b string) int { return len(b) - len(a) })
}

// Path converts a plain path to a path of the repository.
func (c *Checkout) Path(raw string) (string, error) { return c.resolve(raw, false) }

// resolve converts a path, or a URI or URI reference, to a path of the repository. Cached paths
// share memory.
func (c *Checkout) resolve(raw string, isURI bool) (string, error) {
	as := rawPath{raw, isURI}
	if p, ok := c.known[as]; ok {
		return p, nil
	}
	p, err := c.inRepository(raw, isURI)
	if err != nil {
		return "", err
	}
	if len(c.known) >= MaxPaths || c.known == nil {
		c.known = map[rawPath]string{}
	}
	c.known[as] = p
	return p, nil
}

func (c *Checkout) inRepository(raw string, isURI bool) (string, error) {
	p, err := Slashed(raw, isURI)
	switch {
	case err != nil:
		return "", err
	case p == "":
		return "", errors.New("it does not name a file")
	case len(p) > read.MaxPath:
		return "", fmt.Errorf("its path is longer than %d bytes", read.MaxPath)
	}
	p = path.Clean(p)
	if path.IsAbs(p) {
		if p, err = c.below(p); err != nil {
			return "", err
		}
	}
	switch {
	case p == ".":
		return "", errors.New("its path is a folder, the whole repository")
	case p == "..", strings.HasPrefix(p, "../"):
		return "", fmt.Errorf("its path %q is outside of the repository", p)
	}
	return p, nil
}

// below removes the root from an absolute path.
func (c *Checkout) below(p string) (string, error) {
	for _, root := range c.roots {
		if rest, ok := strings.CutPrefix(p, root); ok && rest != "" {
			return rest, nil
		}
	}
	return "", fmt.Errorf("its path %q is absolute and outside of the repository folder of the report; "+
		"scan with relative paths, or set the root of the checkout", p)
}

var (
	scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:/`)
	drive  = regexp.MustCompile(`^/?[A-Za-z]:(/|$)`)
)

// maxSpelling is the maximum length of an original path, in bytes. A percent-encoded byte has three
// bytes, and a root may precede the path.
const maxSpelling = 4 * read.MaxPath

// Slashed normalizes a path: file URIs, percent-encoding, backslashes and drive letters (C:\x
// becomes /c:/x).
func Slashed(raw string, isURI bool) (string, error) {
	if len(raw) > maxSpelling {
		return "", fmt.Errorf("its path is longer than %d bytes", read.MaxPath)
	}
	p := read.WithoutControls(strings.TrimSpace(raw), "")
	if isURI {
		if scheme.MatchString(p) && !strings.HasPrefix(strings.ToLower(p), "file:/") {
			return "", fmt.Errorf("its URL %q is not a file in the repository", model.CutBytes(p, read.MaxName))
		}
		p = filePath(p)
		if decoded, err := url.PathUnescape(p); err == nil {
			p = read.WithoutControls(decoded, "")
		}
	}
	p = strings.ReplaceAll(p, `\`, "/")
	if drive.MatchString(p) {
		p = "/" + strings.TrimPrefix(p, "/")
		p = "/" + strings.ToLower(p[1:2]) + p[2:]
	}
	return p, nil
}

// filePath returns the path of a file URI, with a leading slash. It returns other references
// unchanged.
func filePath(uri string) string {
	if len(uri) < len("file:/") || !strings.EqualFold(uri[:len("file:")], "file:") {
		return uri
	}
	rest := uri[len("file:"):]
	if authority, ok := strings.CutPrefix(rest, "//"); ok {
		_, p, _ := strings.Cut(authority, "/") // the host, usually empty, is dropped
		return "/" + p
	}
	return rest
}

// FileInRepository returns the repository path of the file that is read, or its base name if it is
// elsewhere.
func FileInRepository(o Options) string {
	var c Checkout
	c.AddRoot(o.Root)
	if p, err := c.Path(o.Name); err == nil {
		return p
	}
	return read.Base(read.Text(o.Name).Name())
}

// Both joins two lists without duplicates. It is nil if one of them is nil.
func Both(a, b []string) []string {
	if a == nil || b == nil {
		return nil
	}
	return read.Distinct(append(a, b...))
}

// Minus returns the elements of list that are not in others. It reuses the memory of list.
func Minus(list, others []string) []string {
	drop := make(map[string]bool, len(others))
	for _, s := range others {
		drop[s] = true
	}
	out := list[:0]
	for _, s := range list {
		if !drop[s] {
			out = append(out, s)
		}
	}
	return out
}
