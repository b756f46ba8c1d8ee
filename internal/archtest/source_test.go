package archtest

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

const modulePath = "github.com/redoubt/redoubt"

// source is the text of a module, read once for all rules.
type source struct {
	files  []*file           // Go files, by path
	names  []string          // of all files that git does not ignore
	texts  map[string]string // contents of text files without test data, by name
	schema string            // the dumped PostgreSQL schema
	rows   []row             // the table of packages in ARCHITECTURE.md
}

// file is a Go file.
type file struct {
	path    string // from the module's root, with slashes
	test    bool
	content string
	fset    *token.FileSet
	ast     *ast.File
}

// finding is a violation of a rule. The exception list refers to it by where: a package or a file.
type finding struct{ where, message string }

type findings []finding

func (f *findings) add(where, format string, args ...any) {
	*f = append(*f, finding{where, fmt.Sprintf(format, args...)})
}

const maxPrinted = 20 // findings per package or file

// messages returns the messages of the findings, up to maxPrinted of a package or file, and how many more there are.
func (f findings) messages() (out []string) {
	printed := map[string]int{}
	for _, one := range f {
		if printed[one.where]++; printed[one.where] <= maxPrinted {
			out = append(out, one.message)
		}
	}
	for _, where := range slices.Sorted(maps.Keys(printed)) {
		if more := printed[where] - maxPrinted; more > 0 {
			out = append(out, fmt.Sprintf("%s: %d findings more", where, more))
		}
	}
	return out
}

// readSource reads the named files of a module, except Go files in folders that the go command ignores.
func readSource(module fs.FS, names []string) (*source, error) {
	src := &source{names: slices.Compact(slices.Sorted(slices.Values(names))), texts: map[string]string{}}
	for _, name := range src.names {
		content, err := fs.ReadFile(module, name)
		if err != nil {
			continue // removed, but still tracked by git
		}
		if path.Base(name) == "schema.postgres.sql" {
			src.schema = string(content)
		}
		if bytes.IndexByte(content, 0) < 0 && !strings.Contains("/"+name, "/testdata/") {
			src.texts[name] = string(content)
		}
		if path.Ext(name) != ".go" || slices.ContainsFunc(strings.Split(name, "/"), isIgnored) {
			continue
		}
		f := &file{path: name, test: strings.HasSuffix(name, "_test.go"), content: string(content), fset: token.NewFileSet()}
		f.ast, err = parser.ParseFile(f.fset, name, content, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		src.files = append(src.files, f)
	}
	src.rows = readRows(src.texts[architecture])
	return src, nil
}

// isIgnored reports whether the go command ignores a folder of this name.
func isIgnored(folder string) bool {
	return folder == "testdata" || folder == "vendor" || folder[0] == '.' || folder[0] == '_'
}

// code returns the files that are not tests.
func (s *source) code() []*file {
	return slices.DeleteFunc(slices.Clone(s.files), func(f *file) bool { return f.test })
}

// packages returns the folders that contain Go files, sorted.
func (s *source) packages() []string {
	var dirs []string
	for _, f := range s.files {
		dirs = append(dirs, f.dir())
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// dir returns the folder of the file's package.
func (f *file) dir() string { return path.Dir(f.path) }

// at returns the position of a node for messages.
func (f *file) at(node ast.Node) string {
	return f.path + ":" + strconv.Itoa(f.fset.Position(node.Pos()).Line)
}

// imports returns the import paths of the file.
func (f *file) imports() []string {
	var paths []string
	for _, spec := range f.ast.Imports {
		paths = append(paths, importPath(spec))
	}
	return paths
}

// importNames returns the import paths of the file by their name in it.
func (f *file) importNames() map[string]string {
	names := map[string]string{}
	for _, spec := range f.ast.Imports {
		name := path.Base(importPath(spec))
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = importPath(spec)
	}
	return names
}

func importPath(spec *ast.ImportSpec) string {
	p, _ := strconv.Unquote(spec.Path.Value) // the parser has validated it
	return p
}

// localDir returns the folder of an imported package of this module.
func localDir(importPath string) (dir string, ok bool) {
	if !within(importPath, modulePath) {
		return "", false
	}
	return cmp.Or(strings.TrimPrefix(strings.TrimPrefix(importPath, modulePath), "/"), "."), true
}

// within reports whether a path equals another one or is below it.
func within(path, parent string) bool {
	return path == parent || strings.HasPrefix(path, parent+"/")
}

// withinAny reports whether a path is within one of the parents.
func withinAny(path string, parents []string) bool {
	return slices.ContainsFunc(parents, func(parent string) bool { return within(path, parent) })
}

// clip shortens a line for a message.
func clip(line string) string {
	if len(line) > 120 {
		return strings.ToValidUTF8(line[:120], "") + "…"
	}
	return line
}
