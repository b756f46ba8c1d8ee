package archtest

import (
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxPackageFiles  = 40   // non-test files
	maxPackageLines  = 8000 // in non-test files
	maxExportedNames = 80
	maxFileLines     = 600
	maxLineWidth     = 120
	maxFunctionLines = 60
	maxLongShare     = 0.02 // share of the functions that may be longer than maxFunctionLines
)

func packagesHaveFewFiles(src *source) findings {
	return tooLarge(src, "files", maxPackageFiles, []string{"api"}, func(*file) int { return 1 })
}

func packagesHaveFewLines(src *source) findings {
	return tooLarge(src, "lines", maxPackageLines, []string{"api"}, (*file).lines)
}

func packagesExportFewNames(src *source) findings {
	return tooLarge(src, "exported names", maxExportedNames, vocabulary, (*file).exported)
}

// tooLarge finds packages whose non-test files add up to more than the limit.
func tooLarge(src *source, unit string, limit int, except []string, size func(*file) int) (found findings) {
	sizes := map[string]int{}
	for _, f := range src.code() {
		sizes[f.dir()] += size(f)
	}
	for _, dir := range slices.Sorted(maps.Keys(sizes)) {
		if sizes[dir] > limit && !slices.Contains(except, dir) {
			found.add(dir, "%s: %d %s, at most %d: split the package by subject", dir, sizes[dir], unit, limit)
		}
	}
	return found
}

func (f *file) lines() int { return strings.Count(f.content, "\n") }

// exported counts the exported top-level names, without methods.
func (f *file) exported() (count int) {
	for _, declaration := range f.ast.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.IsExported() {
				count++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						count++
					}
				case *ast.ValueSpec:
					for _, name := range s.Names {
						if name.IsExported() {
							count++
						}
					}
				}
			}
		}
	}
	return count
}

func filesAreShort(src *source) (found findings) {
	for _, f := range src.files {
		if f.lines() > maxFileLines && !ast.IsGenerated(f.ast) {
			found.add(f.path, "%s: %d lines, at most %d: split it by subject", f.path, f.lines(), maxFileLines)
		}
	}
	return found
}

// unbreakable matches lines that have to stay on one line: struct tags and URLs.
var unbreakable = regexp.MustCompile("`\\w+:\"|://")

func linesAreNarrow(src *source) (found findings) {
	for _, f := range src.code() {
		if ast.IsGenerated(f.ast) {
			continue
		}
		number := 0
		for line := range strings.Lines(f.content) {
			number++
			width := utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))
			if width > maxLineWidth && !unbreakable.MatchString(line) {
				found.add(f.dir(), "%s:%d: %d columns, at most %d: break the line", f.path, number, width, maxLineWidth)
			}
		}
	}
	return found
}

func functionsAreShort(src *source) (long findings) {
	all := 0
	for _, f := range src.code() {
		if ast.IsGenerated(f.ast) {
			continue
		}
		for _, declaration := range f.ast.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok {
				continue
			}
			all++
			first, last := f.fset.Position(function.Pos()).Line, f.fset.Position(function.End()).Line
			if lines := last - first + 1; lines > maxFunctionLines {
				long.add(f.path, "%s: %s has %d lines, at most %d (except %.0f %% of all functions): split it",
					f.at(function), function.Name.Name, lines, maxFunctionLines, 100*maxLongShare)
			}
		}
	}
	if float64(len(long)) <= maxLongShare*float64(all) {
		return nil
	}
	return long
}
