package checkout

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/ci"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/secrets"
)

const maxCodeFile = 4 << 20 // bytes of a file

// MaxListedFiles is the maximum number of files without code that are named.
const MaxListedFiles = 20

// Wanted contains the findings of a scan whose code the server requests.
type Wanted struct {
	ScanID    int64
	Locations []model.SnippetLocation
}

// Reader reads files of a checkout. It never reads outside of the checkout.
type Reader struct {
	Root    *os.Root
	Blanker *secrets.Blanker
	Secrets map[string][]model.SnippetLocation // by path
	Left    map[string]string                  // reasons for files without code, by path
	files   int
}

// ReadSecrets reads all files once to collect their secrets. A secret found in one file is removed
// from all.
func (c *Reader) ReadSecrets(wanted []Wanted) {
	names := map[string]bool{}
	for _, w := range wanted {
		for _, p := range w.Locations {
			names[p.Path] = true
		}
	}
	for name := range c.Secrets {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if c.files++; c.files > maxCodeFiles {
			c.Left[name] = fmt.Sprintf("more than %d files have findings", maxCodeFiles)
			continue
		}
		text, err := c.read(name)
		if err != nil {
			c.Left[name] = err.Error()
			continue
		}
		c.Blanker.Learn(text)
		lines := strings.Split(text, "\n")
		for _, p := range c.Secrets[name] {
			if p.Line <= len(lines) {
				c.Blanker.Secret(strings.Join(lines[p.Line-1:min(p.EndLine, len(lines))], "\n"))
			}
		}
	}
}

// Snippets returns the code around findings, sorted by file.
func (c *Reader) Snippets(locations []model.SnippetLocation) (list []api.Snippet) {
	locations = slices.Clone(locations)
	slices.SortStableFunc(locations, func(a, b model.SnippetLocation) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	var of string
	var file []string
	for i, p := range locations {
		if c.Left[p.Path] != "" {
			continue
		}
		if i == 0 || p.Path != of {
			of, file = p.Path, nil
			text, err := c.read(p.Path)
			if err != nil { // the file changed after the first read
				c.Left[p.Path] = err.Error()
				continue
			}
			file = strings.Split(strings.TrimSuffix(c.Blanker.Blank(text), "\n"), "\n")
		}
		first, lines := ci.Snippet(file, p)
		if len(lines) == 0 {
			c.Left[p.Path] = fmt.Sprintf("the file has no line %d", p.Line)
			continue
		}
		secrets.BlankSnippet(lines, first, p, c.Secrets[p.Path])
		list = append(list, api.Snippet{FindingID: p.FindingID, Path: p.Path, Line: p.Line, First: first, Lines: lines})
	}
	return list
}

// read reads a text file of the checkout. The name comes from a report and is untrusted. Links,
// devices, files of git and binary files are rejected.
func (c *Reader) read(name string) (string, error) {
	data, err := c.ReadBytes(name)
	return strings.ToValidUTF8(string(data), "\uFFFD"), err
}

// ReadBytes returns the content of a file.
func (c *Reader) ReadBytes(name string) ([]byte, error) {
	switch {
	case name == "" || !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(name, "\x00"):
		return nil, errors.New("not in the checkout")
	case slices.ContainsFunc(strings.Split(path.Clean(name), "/"), func(part string) bool {
		return strings.EqualFold(part, ".git")
	}):
		return nil, errors.New("files in .git are never sent")
	}
	for at := path.Clean(name); at != "."; at = path.Dir(at) { // committed links may point anywhere
		if info, err := c.Root.Lstat(filepath.FromSlash(at)); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return nil, errors.New("the path contains a symbolic link")
		}
	}
	info, err := c.Root.Stat(filepath.FromSlash(name))
	switch {
	case err != nil:
		return nil, reasonOf(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case info.Size() > maxCodeFile:
		return nil, fmt.Errorf("size is %d bytes; the limit is %d", info.Size(), maxCodeFile)
	}
	f, err := c.Root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, reasonOf(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxCodeFile))
	switch {
	case err != nil:
		return nil, reasonOf(err)
	case bytes.IndexByte(data, 0) >= 0:
		return nil, errors.New("not a text file")
	}
	return data, nil
}

// reasonOf returns an error without the path that the message already contains.
func reasonOf(err error) error {
	if at, ok := errors.AsType[*os.PathError](err); ok {
		return at.Err
	}
	return err
}

// Limits of the code that is read.
const (
	maxCodeFiles = 5000 // files read per build
)
