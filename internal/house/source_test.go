package house

import (
	"bytes"
	"cmp"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// source is the text of a module, read once for all rules.
type source struct {
	files []*file // Go files, by path
	texts []text  // what else a rule may read: every tracked file that is text

	tracked []string // the names of all tracked files
	dumped  string   // the schema of PostgreSQL, as the store's tests write it
}

// file is a Go file.
type file struct {
	path  string // from the module's root, with slashes
	test  bool
	lines int
	fset  *token.FileSet
	ast   *ast.File
}

// text is a tracked text file.
type text struct {
	path, content string
}

// readSource reads all Go files of a module but those the go command passes over, and the tracked files among its texts.
func readSource(module fs.FS, tracked []string) (*source, error) {
	src := &source{tracked: tracked}
	err := fs.WalkDir(module, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && passedOver(name) {
			return fs.SkipDir
		}
		if entry.IsDir() || path.Ext(name) != ".go" {
			return nil
		}
		f, err := readFile(module, name)
		if err != nil {
			return err
		}
		src.files = append(src.files, f)
		return nil
	})
	if err != nil {
		return nil, err
	}
	src.texts = readTexts(module, tracked)
	dumped, err := fs.ReadFile(module, storeRoom+"/testdata/schema.postgres.sql")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	src.dumped = string(dumped)
	return src, nil
}

// passedOver tells the folders in which the go command looks for no packages.
func passedOver(dir string) bool {
	base := path.Base(dir)
	return dir != "." && (base == "testdata" || base == "vendor" || base[0] == '.' || base[0] == '_')
}

func readFile(module fs.FS, name string) (*file, error) {
	content, err := fs.ReadFile(module, name)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &file{
		path:  name,
		test:  strings.HasSuffix(name, "_test.go"),
		lines: bytes.Count(content, []byte("\n")),
		fset:  fset,
		ast:   parsed,
	}, nil
}

// readTexts leaves out what is not text, recorded test data, and what was removed but is still tracked.
func readTexts(module fs.FS, tracked []string) []text {
	var texts []text
	for _, name := range tracked {
		content, err := fs.ReadFile(module, name)
		if err != nil || bytes.IndexByte(content, 0) >= 0 || strings.Contains("/"+name, "/testdata/") {
			continue
		}
		texts = append(texts, text{name, string(content)})
	}
	return texts
}

// code is the files that are not tests.
func (s *source) code() []*file {
	return slices.DeleteFunc(slices.Clone(s.files), func(f *file) bool { return f.test })
}

// packages lists the folders that hold Go files, in order.
func (s *source) packages() []string {
	var dirs []string
	for _, f := range s.files {
		dirs = append(dirs, f.dir())
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// text is the content of a tracked text file, or nothing.
func (s *source) text(path string) string {
	for _, t := range s.texts {
		if t.path == path {
			return t.content
		}
	}
	return ""
}

// dir is the folder of the file's package.
func (f *file) dir() string { return path.Dir(f.path) }

// at is the place of a node, to print.
func (f *file) at(node ast.Node) string {
	return f.path + ":" + strconv.Itoa(f.fset.Position(node.Pos()).Line)
}

// imports lists the import paths of the file.
func (f *file) imports() []string {
	var paths []string
	for _, spec := range f.ast.Imports {
		paths = append(paths, importPath(spec))
	}
	return paths
}

func importPath(spec *ast.ImportSpec) string {
	p, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
	return p
}

// localDir is the folder of an imported package of this module.
func localDir(importPath string) (dir string, ok bool) {
	if !within(importPath, modulePath) {
		return "", false
	}
	return cmp.Or(strings.TrimPrefix(strings.TrimPrefix(importPath, modulePath), "/"), "."), true
}

// isStd tells an import path of the standard library: its first part has no dot.
func isStd(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}
