package archtest

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fence      = regexp.MustCompile("(?ms)^```.*?^```")
	heading    = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notInSlugs = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)

	// The words are concatenated so that this file does not contain them.
	machinePath = regexp.MustCompile(`(?m)(^|[^\w./*-])/(work|root|t` + `mp)/`)
	laterMark   = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
)

// linksWork finds links between documents whose file or heading does not exist.
func linksWork(src *source) (found findings) {
	for _, name := range slices.Sorted(maps.Keys(src.texts)) {
		if path.Ext(name) != ".md" {
			continue
		}
		for _, match := range link.FindAllStringSubmatch(fence.ReplaceAllString(src.texts[name], ""), -1) {
			target, anchor, _ := strings.Cut(match[1], "#")
			to := name
			if target != "" {
				to = path.Join(path.Dir(name), target)
			}
			switch {
			case strings.Contains(match[1], ":"): // another site
			case !slices.ContainsFunc(src.names, func(name string) bool { return within(name, to) }):
				found.add(name, "%s: links to %s, which does not exist", name, to)
			case anchor != "" && path.Ext(to) == ".md" && !slices.Contains(anchors(src.texts[to]), anchor):
				found.add(name, "%s: links to #%s of %s, which has no such heading", name, anchor, to)
			}
		}
	}
	return found
}

// anchors returns the anchors of a document's headings.
func anchors(document string) (list []string) {
	for _, match := range heading.FindAllStringSubmatch(fence.ReplaceAllString(document, ""), -1) {
		slug := notInSlugs.ReplaceAllString(strings.ToLower(match[1]), "")
		list = append(list, strings.ReplaceAll(slug, " ", "-"))
	}
	return list
}

func noMachinePaths(src *source) findings {
	return grep(src, machinePath, "names a path of one machine: use a relative path, a flag or os.MkdirTemp",
		func(path string) bool { return strings.HasSuffix(path, "_test.go") }) // a test may use invented paths
}

func noTodoComments(src *source) findings {
	return grep(src, laterMark, "finish it now, or open an issue and remove the mark", func(string) bool { return false })
}

// grep finds the lines of texts that match, except in third-party files, which the page of licenses names.
func grep(src *source, pattern *regexp.Regexp, advice string, except func(path string) bool) (found findings) {
	for _, name := range slices.Sorted(maps.Keys(src.texts)) {
		if strings.Contains(src.texts[thirdParty], "`"+name+"`") || except(name) {
			continue
		}
		number := 0
		for line := range strings.Lines(src.texts[name]) {
			number++
			if pattern.MatchString(line) {
				found.add(name, "%s:%d: %q: %s", name, number, clip(strings.TrimSpace(line)), advice)
			}
		}
	}
	return found
}
