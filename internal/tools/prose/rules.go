package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of sentences, help texts and lines.
const (
	maxWords     = 25
	maxHelpWords = 10
	maxColumns   = 120
)

// phrases is a rule about wording that does not depend on grammar.
type phrases struct {
	rule    string
	stems   []string // a text without any of them does not match; in lower case
	pattern *regexp.Regexp
}

func banned(rule, stems string, alternatives ...string) phrases {
	pattern := `(?i)(?:` + strings.Join(alternatives, "|") + `)`
	return phrases{rule, strings.Split(stems, "|"), regexp.MustCompile(pattern)}
}

// wordings are the rules that compare phrases. Words with an ordinary sense are part of a longer phrase.
var wordings = []phrases{
	banned("coined", "echo|blind|tangl|lane|seat|turnstile|likeness|telling|desk|shel|room|turn|way|card|house",
		`\b(?:an|the|no|each|every|of|as) echo(?:es)?\b`, `\bechoes\b`,
		`\bblind (?:groups?|standings?|search(?:es)?|findings?|results?|sightings?|ones?|matches)\b`, `\bthe blind\b`,
		`\btangl(?:es?|ed)\b`, `\blanes?\b`, `\bseats?\b`, `\bturnstiles?\b`, `\blikeness(?:es)?\b`, `\btellings?\b`,
		`\b(?:your|the|a|its) desk\b`, `\b(?:the|a|its|on|this) shel(?:f|ves)\b`,
		`\bthe room (?:of|for|that)\b`, `\bmakes? room\b`, `\b(?:no|has|have|is|a|enough) room (?:for|to|left)\b`,
		`\bwhose turn\b`, `\b(?:its|their|one's|the) turns?\b`, `\bwaits? (?:for )?(?:its|their|a) turn\b`,
		`\b(?:knows?|finds?) (?:its|their|my|the) way\b`, `\ba way in\b`, `\bways and cards\b`,
		`\bcards? of (?:an |the )?(?:advisor|vulnerabilit)`, `\badvisory cards?\b`,
		`\bleaves? the house\b`, `\b(?:in|of) the house\b`, `\bhouse rules?\b`),
	banned("people", "body|no one|who",
		`\b(?:(?:some|any|every)body|no one|who(?:m)?ever)\b`, `(?:^|[\s(@])no(?:body)\b`,
		`(?:^|[,;:(] ?|\b(?:and|or|of|those|that|says?|tells?|knows?|decides?|is|are|by|to|for) )who (?:may|shall)\b`),
	banned("told", "told|tell|ane|hand|so|let|heard|asked for|back|given up",
		`\b(?:is|are|was|were|be|been|being|gets?) told\b`, `\btold (?:of|so|to|by|in)\b`, `\bwhat tells\b`, `\banew\b`,
		`\bhand(?:s|ed|ing)? in\b`, `\b(?:says|say|said|told|tells) so\b`,
		`\b(?:is|are|was|were|be) let in\b`, `\blets? in\b`,
		`\b(?:is|are|was|were|be) (?:heard|asked for|taken back|given back|given up)\b`),
}

// subjects are things that cannot act like people, in the singular. "_" is masked code.
var subjects = words(`_ advisory api assistant branch browser build client code command connection cursor
	database document endpoint engine error field file filter finding flag format function gate handler header host
	import index job list lockfile message method notification page parser pipeline policy process program project
	provider proxy query reader receiver redoubt report request response rule runner scan scanner server status
	store table test token tool tracker upload view webhook worker answer policies advisories`)

// acts are the verbs that those subjects do not have, by the form of the verb.
var acts = words(`say says tell tells ask asks hear hears give gives know knows want wants let lets mind minds
	take takes look looks hold holds make makes come comes goes keeps`)

// declared are the acts that no comment states of the identifier that it describes.
var declared = words(`says tells asks hears knows wants lets takes gives looks`)

var adverbs = words(`also then never only always still itself already now just`)

// ordinary matches uses of acts that are common in technical English. It begins at the verb.
var ordinary = regexp.MustCompile(`(?i)^(?:gives? up` +
	`|takes? (?:effect|precedence|place|part|over|long|longer|less|more|about|at|up to|several|some|so long|too long` +
	`|time|_|\d|one|two|a few|an? \w+ of the time|o\(\w|a minute|a second|minutes|seconds|hours` +
	`|days|half|as long|priority|turns|no arguments|between|under)` +
	`|looks? (?:up|like)` +
	`|makes? (?:(?:sense|use|sure|up|it|them)\b|.*(?:able|ible|unique|public|safe))` +
	`|comes? (?:from|with|first|before|after|last)` +
	`|goes (?:through|to)` +
	`|keeps? (?:the|its|their|a|an|all|running|track|working|only|both|at|up|one|no|in|out|on|this|that|these|each` +
	`|those|two|it|them|until|for|_|\w+ing)` +
	`|holds? (?:up|on|true|(?:a|the|its|this|no) (?:\w+ )?(?:lock|lease|mutex)))\b`)

// verbs are the imperatives that begin a help text of a command or the summary of an operation.
var verbs = words(`accept acknowledge activate add annotate apply approve archive assign attach authenticate
	authorize back begin block build calculate cancel change check clear clone close comment commit compare complete
	configure confirm connect convert copy count create deactivate decide decline delete deny detach detect disable
	disconnect dismiss display distribute download edit enable end enter evaluate exchange export extend fetch filter
	find finish follow format generate get group grant ignore import index inspect install invite issue join limit link
	list load lock log manage map mark measure merge migrate move open parse pause permit ping poll post prepare preview
	print process prune publish query queue read rebuild receive record redact refresh refuse register reject
	release reload remove rename renew reopen replace report request require rescan resend reset resolve restore
	resume retrieve retry return revoke rotate run save scan schedule search select send serve set share show sign
	skip sort split start stop store stream submit subscribe summarize switch synchronize test toggle transfer
	triage trigger unassign undo unfollow unlink unlock unsubscribe update upgrade upload use validate verify view
	wait watch withdraw write`)

// imperatives are verbs that are never nouns, so that a heading begins with them as an imperative only.
var imperatives = words(`add ask choose configure connect create delete disable enable find follow get give have
	hear install invite keep let make manage put read remove run say see send sign stop take tell use write`)

// nameParts are parts of identifiers that no identifier has, split at capitals.
var nameParts = words(`tell tells telling tellings told untold ask asks asked asking hear hears hearing heard
	echo echoes blind lane lanes seat seats tangle tangles settle settles settled settling mend mends mended
	likeness likenesses room rooms desk desks shelf turnstile beside apart became heed distrust stranger say says
	said unfit`)

// names are identifiers that describe nothing.
var names = words(`welcome beyond Beyond proven cameFrom showAgain Keeper Keep keep kept seen Seen seenAlike
	turns rounds less lookAtHooks again Again NoteHookLook RepositoriesToLookAt turn QueueTurn picture outlast letGo
	recall apart handOver SeeRunner placeMoved turnTo AsIf Remembered WouldBlock Stance look PartTickets Ahead
	Announce ExpectScan Card addWay findWay Whole whole quickArray readMet MemoryOfMemo giveWay standing stand
	startWay heedHangups letIn letInRoutes keepHalf HalfSession MayTake MayHandIn unsaved asFilledIn Sooner Stops`)

// personParts are further parts of identifiers that no identifier has.
var personParts = regexp.MustCompile(`^(?:(?:no|some|any|every)body|wh(?:o|at)ever|an(?:ew))$`)

func words(list string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}

var (
	headless = regexp.MustCompile(`^(?:[Ww]hat|[Ww]hatever|[Ww]ho|[Ww]hose|[Ww]hoever)\b(?:\s+\S+)?` +
		`|^[Ww]hich\s+(?:is|are|was|were|has|have|had|does|do|can|may|must)\b`)
	howClause = regexp.MustCompile(`^[Hh]ow (?:[^mt]\S*|m[^a]\S*|ma[^n]\S*|t[^o]\S*|to\S+)`) // not "how many", "how to"
	unnamed   = regexp.MustCompile(`(?i)^(?:what|how|who|whose|whom|which|where|when|why|a|an|the|it|its|this|that)\b`)
	clause    = regexp.MustCompile(`(?i)^(?:what|whatever|how|who|whose|when|why|where|which)\b`)
	pronoun   = regexp.MustCompile(`(?i)\b(?:it|them|they)\b`)
	detail    = regexp.MustCompile(`(?:[;:.] | \().*$`) // of the help of a flag: values, defaults and units
	wordStart = regexp.MustCompile(`^[A-Za-z]+`)
)

// apply returns the violations of a passage.
func apply(file string, p passage) (found []violation) {
	if p.kind == name {
		if part := badName(p.text); part != "" {
			found = append(found, violation{file, p.line, "name", p.text, part})
		}
		return found
	}
	p.text = squeeze(p.text)
	for _, s := range sentences(p) {
		flat := strings.TrimSpace(strings.ReplaceAll(s.text, "\n", " "))
		add := func(rule, part string) {
			if part == "" {
				return
			}
			line := s.line
			if at := strings.Index(strings.ReplaceAll(s.text, "\n", " "), part); at >= 0 {
				line += strings.Count(s.text[:at], "\n")
			}
			found = append(found, violation{file, line, rule, flat, part})
		}
		for _, w := range wordings {
			add(w.rule, w.find(flat))
		}
		add("told", act(p.kind, flat))
		if !strings.HasSuffix(flat, "?") && (p.of == "" || !strings.HasPrefix(flat, p.of+" ")) {
			add("headless", headless.FindString(flat))
			if p.kind == about || p.kind == label {
				add("headless", howClause.FindString(flat))
			}
		}
		for _, part := range parts(p.kind, flat) {
			if count := countWords(part); count > maxWords {
				add("length", strconv.Itoa(count)+" words")
				break
			}
		}
	}
	return append(found, whole(file, p)...)
}

// squeeze reduces white space to single characters and keeps line breaks.
func squeeze(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return strings.Join(lines, "\n")
}

// whole returns the violations of the rules about the form of headings and help texts.
func whole(file string, p passage) (found []violation) {
	flat := strings.Join(strings.Fields(p.text), " ")
	add := func(rule, part string) {
		if part != "" {
			found = append(found, violation{file, p.line, rule, flat, part})
		}
	}
	switch p.kind {
	case heading:
		add("heading", badHeading(file, flat))
	case help, summary:
		if first := wordStart.FindString(flat); !verbs[strings.ToLower(first)] {
			add("subject", "not a known imperative: "+strings.SplitN(flat, " ", 2)[0])
		}
	case flags:
		add("subject", unnamed.FindString(flat))
	}
	if p.kind == flags {
		flat = flat[:len(flat)-len(detail.FindString(flat))]
	}
	if count := countWords(flat); count > maxHelpWords && (p.kind == help || p.kind == flags || p.kind == summary) {
		add("help", strconv.Itoa(count)+" words")
	}
	return found
}

// find returns the first match in a text.
func (p phrases) find(text string) string {
	lower := strings.ToLower(text)
	if !slices.ContainsFunc(p.stems, func(stem string) bool { return strings.Contains(lower, stem) }) {
		return ""
	}
	return strings.TrimLeft(p.pattern.FindString(text), " (,;:")
}

// act returns a subject with a verb that it does not have, if the sentence contains one.
func act(k kind, sentence string) string {
	tokens := strings.Fields(sentence)
	for i, token := range tokens {
		verb := strings.TrimRight(token, ",.;:!?)")
		if i == 0 || !acts[verb] || ordinary.MatchString(strings.Join(tokens[i:], " ")) {
			continue
		}
		at := i - 1
		for at > 0 && adverbs[tokens[at]] {
			at--
		}
		subject := strings.ToLower(strings.TrimLeft(tokens[at], `("“*`))
		if subjects[subject] || subjects[strings.TrimSuffix(subject, "s")] ||
			k == comment && i == 1 && declared[verb] && subject != "it" {
			return strings.Join(tokens[at:i+1], " ")
		}
	}
	return ""
}

// badHeading returns the reason why a heading is not a noun phrase. Guides and pages may use plain imperatives.
func badHeading(file, text string) string {
	first := strings.ToLower(wordStart.FindString(text))
	guide := strings.HasPrefix(file, "docs/start/") || strings.HasPrefix(file, "docs/guides/") ||
		strings.HasSuffix(file, ".html")
	switch {
	case strings.HasSuffix(text, "?"):
		return "question"
	case strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "..."):
		return "sentence"
	case clause.MatchString(text):
		return "clause"
	case pronoun.MatchString(text):
		return "pronoun " + pronoun.FindString(text)
	case imperatives[first] && strings.Contains(text, " ") && (!guide || !verbs[first]):
		return "imperative " + first
	}
	return ""
}

var (
	acronym = regexp.MustCompile(`([A-Z]+)([A-Z][a-z])`)
	capital = regexp.MustCompile(`([a-z0-9])([A-Z])`)
)

// split returns the words of an identifier, without digits and underscores.
func split(id string) []string {
	id = capital.ReplaceAllString(acronym.ReplaceAllString(id, "$1 $2"), "$1 $2")
	return strings.FieldsFunc(id, func(r rune) bool { return !unicode.IsLetter(r) })
}

// badName returns the part of an identifier that breaks the rule "name", if there is one.
func badName(id string) string {
	if names[id] {
		return id
	}
	for _, part := range split(id) {
		if low := strings.ToLower(part); nameParts[low] || personParts.MatchString(low) {
			return part
		}
	}
	return ""
}

// sentence is a part of a passage. It ends with a full stop, a question mark or an exclamation mark.
type sentence struct {
	line int
	text string
}

var abbreviations = []string{"e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.", "resp."}

// sentences divides a passage into sentences.
func sentences(p passage) (list []sentence) {
	start, line := 0, p.line
	end := func(at int) {
		text := p.text[start:at]
		lead := text[:len(text)-len(strings.TrimLeft(text, " \n\t\"“_(*"))]
		if strings.Contains(lead, "_") { // masked code is a word
			lead = text[:len(text)-len(strings.TrimLeft(text, " \n\t"))]
		}
		line += strings.Count(lead, "\n")
		if rest := text[len(lead):]; strings.TrimSpace(rest) != "" {
			list = append(list, sentence{line, rest})
			line += strings.Count(rest, "\n")
		}
		start = at
	}
	for i, c := range p.text {
		if !strings.ContainsRune(".?!", c) || i+1 == len(p.text) {
			continue
		}
		next := strings.TrimLeft(p.text[i+1:], `"”')*`)
		space := next != "" && (next[0] == ' ' || next[0] == '\n')
		word := p.text[strings.LastIndexAny(p.text[:i], " \n(")+1 : i+1]
		if space && !slices.Contains(abbreviations, word) {
			end(len(p.text) - len(next))
		}
	}
	end(len(p.text))
	return list
}

// parts returns the parts of a sentence whose length is limited. A table cell may be a list with semicolons.
func parts(k kind, sentence string) []string {
	if k == cell {
		return strings.Split(sentence, ";")
	}
	return []string{sentence}
}

// codeList matches an enumeration of code, which counts as one word.
var codeList = regexp.MustCompile(`_(?:, _)+`)

// countWords counts the words of a text, including masked code. Numbers and punctuation do not count.
func countWords(text string) (count int) {
	for word := range strings.FieldsSeq(codeList.ReplaceAllString(text, "_")) {
		if strings.ContainsFunc(word, func(r rune) bool { return r == '_' || unicode.IsLetter(r) }) {
			count++
		}
	}
	return count
}

var (
	targets   = regexp.MustCompile(`\]\([^)]*\)`)
	codeFence = regexp.MustCompile("^\\s*(```|~~~)")
)

// wideLines returns the lines of a Markdown document that are too wide, except tables, code and addresses.
func wideLines(file, content string) (found []violation) {
	code := false
	for i, line := range strings.Split(content, "\n") {
		if codeFence.MatchString(line) {
			code = !code
		}
		if code || strings.HasPrefix(strings.TrimSpace(line), "|") || strings.Contains(line, "://") {
			continue
		}
		if width := utf8.RuneCountInString(targets.ReplaceAllString(line, "]")); width > maxColumns {
			found = append(found, violation{file, i + 1, "width", line, "over 120 columns"})
		}
	}
	return found
}
