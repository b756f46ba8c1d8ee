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

// Checkout knows where the repository lay when it was scanned, and turns the
// paths of a report into paths of the repository.
type Checkout struct {
	roots []string              // absolute, clean, with a slash at the end; longest first
	known map[pathAsTold]string // paths that were resolved: results of one file stand together
}

// pathAsTold is a path as a report has it.
type pathAsTold struct {
	raw   string
	isURI bool
}

// MaxPaths bounds the paths that are remembered at once.
const MaxPaths = 1000

// maxRoots bounds the roots of a report, each of which every absolute path is held to.
const maxRoots = 100

// AddRoot makes a folder, given as a path or as a file URI, a root. What is
// not absolute, or is the root of the file system, is no root.
func (c *Checkout) AddRoot(folder string) {
	folder, err := Slashed(folder, strings.HasPrefix(folder, "file:"))
	if err != nil || !path.IsAbs(folder) || path.Clean(folder) == "/" || len(c.roots) == maxRoots {
		return
	}
	c.known = nil
	c.roots = append(c.roots, path.Clean(folder)+"/")
	slices.SortFunc(c.roots, func(a, b string) int { return len(b) - len(a) })
}

// Path returns a plain path as a path of the repository.
func (c *Checkout) Path(raw string) (string, error) { return c.resolve(raw, false) }

// resolve does the same, for a URI or URI reference too. The results of one file
// share its path, which takes memory once.
func (c *Checkout) resolve(raw string, isURI bool) (string, error) {
	as := pathAsTold{raw, isURI}
	if p, ok := c.known[as]; ok {
		return p, nil
	}
	p, err := c.inRepository(raw, isURI)
	if err != nil {
		return "", err
	}
	if len(c.known) >= MaxPaths || c.known == nil {
		c.known = map[pathAsTold]string{}
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
		return "", errors.New("it names no file")
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
		return "", fmt.Errorf("its path %q leads out of the repository", p)
	}
	return p, nil
}

// below takes the root off an absolute path.
func (c *Checkout) below(p string) (string, error) {
	for _, root := range c.roots {
		if rest, ok := strings.CutPrefix(p, root); ok && rest != "" {
			return rest, nil
		}
	}
	return "", fmt.Errorf("its path %q is absolute and not below a folder that the report names as the repository; "+
		"scan with relative paths, or tell the root of the checkout", p)
}

var (
	scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:/`)
	drive  = regexp.MustCompile(`^/?[A-Za-z]:(/|$)`)
)

// maxSpelling is the length, in bytes, above which no spelling of a path is looked at:
// escapes take three bytes for one, and a root may stand before it.
const maxSpelling = 4 * read.MaxPath

// Slashed undoes the spellings of a path: file URIs, percent-encoding,
// backslashes, drive letters (C:\x becomes /c:/x).
func Slashed(raw string, isURI bool) (string, error) {
	if len(raw) > maxSpelling {
		return "", fmt.Errorf("its path is longer than %d bytes", read.MaxPath)
	}
	p := read.WithoutControls(strings.TrimSpace(raw), "")
	if isURI {
		if scheme.MatchString(p) && !strings.HasPrefix(strings.ToLower(p), "file:/") {
			return "", fmt.Errorf("its address %q is not of a file in the repository", model.CutBytes(p, read.MaxName))
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

// filePath returns the path of a file URI, with a slash in front; other
// references are returned as they are.
func filePath(uri string) string {
	if len(uri) < len("file:/") || !strings.EqualFold(uri[:len("file:")], "file:") {
		return uri
	}
	rest := uri[len("file:"):]
	if authority, ok := strings.CutPrefix(rest, "//"); ok {
		_, p, _ := strings.Cut(authority, "/") // the host, mostly empty, is dropped
		return "/" + p
	}
	return rest
}

// FileInRepository is the path of the file that is read, or its mere name when
// it lies elsewhere.
func FileInRepository(o Options) string {
	var c Checkout
	c.AddRoot(o.Root)
	if p, err := c.Path(o.Name); err == nil {
		return p
	}
	return read.Base(read.Text(o.Name).Name())
}

// Both joins two lists without duplicates. It is nil if one of them is.
func Both(a, b []string) []string {
	if a == nil || b == nil {
		return nil
	}
	return read.Distinct(append(a, b...))
}

// Minus returns the list without those in another one.
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
