package house

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
)

// semantics is the page whose sections comments and docs cite.
const semantics = "docs/semantics.md"

// architecture is the page that says where to change what.
const architecture = "ARCHITECTURE.md"

var (
	// A citation names one section or several, and may go on behind the mark of a comment on the next line.
	citation    = regexp.MustCompile(`\bsemantics[\s/#*-]+(§\d+(?:(?:,|\s+and)[\s/#*-]+§\d+)*)`)
	cited       = regexp.MustCompile(`§\d+`)
	section     = regexp.MustCompile(`(?m)^## (§\d+) \S`)
	elsewhere   = regexp.MustCompile(`\b(decisions|design)(\.md)?[\s/#*-]+§\d`)
	link        = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fence       = regexp.MustCompile("(?ms)^```.*?^```")
	heading     = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notInSlugs  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	quoted      = regexp.MustCompile("`([^`\\s]+)`")
	placeholder = regexp.MustCompile(`<[a-z]+>`)
	term        = regexp.MustCompile("(?m)^\\| [^|]+ \\| [^|]+ \\| `(\\w+)\\.(\\w+)` \\|$")
)

// citationsLeadSomewhere finds citations of sections that the page does not have, and of documents that are not here.
func citationsLeadSomewhere(src *source) (broken []string) {
	known := map[string]bool{}
	for _, found := range section.FindAllStringSubmatch(src.text(semantics), -1) {
		known[found[1]] = true
	}
	for _, t := range src.texts {
		if !strings.Contains(t.content, "§") {
			continue // most texts, which the patterns below would walk slowly
		}
		for _, found := range citation.FindAllStringSubmatchIndex(t.content, -1) {
			for _, number := range cited.FindAllString(t.content[found[2]:found[3]], -1) {
				if !known[number] {
					broken = append(broken, fmt.Sprintf("%s: cites %s, which %s does not have: cite the section that decides it, or write it",
						t.at(found[0]), number, semantics))
				}
			}
		}
		for _, found := range elsewhere.FindAllStringIndex(t.content, -1) {
			broken = append(broken, fmt.Sprintf("%s: cites a document that is not in this repository: cite a section of %s", t.at(found[0]), semantics))
		}
	}
	return broken
}

// linksLeadSomewhere finds links between documents whose file or heading is not there.
func linksLeadSomewhere(src *source) (broken []string) {
	for _, t := range src.texts {
		if path.Ext(t.path) != ".md" {
			continue
		}
		for _, found := range link.FindAllStringSubmatchIndex(blanked(t.content), -1) {
			target := t.content[found[2]:found[3]]
			if strings.Contains(target, ":") {
				continue // another site
			}
			name, anchor, _ := strings.Cut(target, "#")
			to := t.path
			if name != "" {
				to = path.Join(path.Dir(t.path), name)
			}
			switch {
			case !src.has(to):
				broken = append(broken, fmt.Sprintf("%s: links to %s, which is not there", t.at(found[0]), to))
			case anchor != "" && path.Ext(to) == ".md" && !slices.Contains(anchors(src.text(to)), anchor):
				broken = append(broken, fmt.Sprintf("%s: links to #%s of %s, which has no such heading", t.at(found[0]), anchor, to))
			}
		}
	}
	return broken
}

// blanked is a document with its blocks of code blanked, every byte at its place.
func blanked(document string) string {
	return fence.ReplaceAllStringFunc(document, func(block string) string { return strings.Repeat(" ", len(block)) })
}

// anchors lists what the headings of a document can be linked to by.
func anchors(document string) (list []string) {
	for _, found := range heading.FindAllStringSubmatch(blanked(document), -1) {
		slug := notInSlugs.ReplaceAllString(strings.ToLower(found[1]), "")
		list = append(list, strings.ReplaceAll(slug, " ", "-"))
	}
	return list
}

// waysLeadSomewhere finds paths in the tables of "Where do I change X?" that are not there, and rows without one.
func waysLeadSomewhere(src *source) (broken []string) {
	_, rest, _ := strings.Cut(src.text(architecture), "\n## Where do I change X?\n")
	tables, _, _ := strings.Cut(rest, "\n## ")
	for line := range strings.Lines(tables) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| to change |") {
			continue
		}
		paths := 0
		for _, found := range quoted.FindAllStringSubmatch(line, -1) {
			if name := found[1]; strings.Contains(name, "/") || path.Ext(name) == ".go" {
				paths++
				if !src.matches(placeholder.ReplaceAllString(name, "*")) {
					broken = append(broken, fmt.Sprintf("%s: names %s, which is not there: say where it is now", architecture, name))
				}
			}
		}
		if paths == 0 {
			broken = append(broken, fmt.Sprintf("%s: %q names no path from the top of the repository", architecture, clip(strings.TrimSpace(line))))
		}
	}
	if tables == "" && src.text(architecture) != "" {
		broken = append(broken, architecture+": no section \"Where do I change X?\"")
	}
	return broken
}

// wordsHaveTypes finds words of the glossary whose type or function the code does not have.
func wordsHaveTypes(src *source) (broken []string) {
	declared := map[string]bool{}
	for _, f := range src.code() {
		for _, declaration := range f.ast.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					declared[f.ast.Name.Name+"."+d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if t, ok := spec.(*ast.TypeSpec); ok {
						declared[f.ast.Name.Name+"."+t.Name.Name] = true
					}
				}
			}
		}
	}
	rows := term.FindAllStringSubmatch(src.text(semantics), -1)
	for _, row := range rows {
		if name := row[1] + "." + row[2]; !declared[name] {
			broken = append(broken, fmt.Sprintf("%s: no %s in the code: name what carries the word now", semantics, name))
		}
	}
	if len(rows) == 0 && src.text(semantics) != "" {
		broken = append(broken, semantics+": no glossary found: a row is | word | means | `package.Type` |")
	}
	return broken
}

// at is the line of a byte of the text, to print.
func (t text) at(offset int) string {
	return fmt.Sprintf("%s:%d", t.path, 1+strings.Count(t.content[:offset], "\n"))
}

// has reports whether a file is tracked, or a folder holds one that is.
func (s *source) has(name string) bool {
	return slices.ContainsFunc(s.tracked, func(tracked string) bool { return within(tracked, name) })
}

// matches reports whether a file is tracked that a path, or a pattern of path.Match, names; or a folder that holds one.
func (s *source) matches(pattern string) bool {
	return s.has(pattern) || slices.ContainsFunc(s.tracked, func(tracked string) bool {
		fits, err := path.Match(pattern, tracked)
		return err == nil && fits
	})
}
