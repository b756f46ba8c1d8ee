package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// violation is a place that breaks a rule.
type violation struct {
	file   string
	line   int
	rule   string // its name in exceptions.txt
	found  string // the words that break the rule
	advice string
}

func (v violation) String() string {
	return fmt.Sprintf("%s:%d: %s: %q: %s", v.file, v.line, v.rule, v.found, v.advice)
}

// rule finds the words that break it.
type rule struct {
	name    string
	pattern *regexp.Regexp
	advice  string
}

// subjects are things that do not speak, hear or want.
const subjects = `(?:answers?|apis?|clients?|columns?|commands?|comments?|databases?|documents?|engines?|fields?|files?|findings?|` +
	`flags?|functions?|gates?|hosts?|indexe?s?|jobs?|lists?|messages?|methods?|packages?|pages?|policy|policies|programs?|projects?|queues?|` +
	`reports?|requests?|responses?|rows?|rules?|runners?|scanners?|scans?|servers?|stores?|tables?|tenants?|tests?|tokens?|tools?|workers?)`

// textRules are the rules about the words of a text.
var textRules = []rule{
	{"people", expression(`nobody|somebody|whoever|everybody|anybody`), "name the role: an administrator, users with the triager role"},
	{"told", expression(`(?:is|are|was|were|be|been|being) told`), "use send, notify, return or report"},
	{"subject", expression(subjects + ` (?:say|says|tell|tells|ask|asks|hear|hears|know|knows|want|wants|look|looks|speak|speaks)`),
		"use a verb that the subject can do: return, report, request, receive, contain"},
	{"coined", expression(`hand(?:s|ed|ing)? in|handed over|by itself|by themselves|let in|lets in|anew`),
		"use upload, send, transfer, automatically, sign in, again"},
	{"headless", expression(`what (?:tells?|told|asks?|asked|hears?|waits?|stands?|speaks?|became)|seats says|who may`), "use a noun: results without code, the requester"},
	{"picture", expression(`(?:a|an|the|its|their|each|every|no|one|own|of) (?:rooms?|seats?|lanes?|echo(?:es)?|tangles?|shelf|shelves|likeness(?:es)?|desks?)`),
		"name the thing: a limit, a slot, a package, a client"},
}

// expression returns a pattern of whole words in any case.
func expression(words string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[^\w@-])((?:` + words + `)\b)`)
}

// coinedParts are parts of names that Go, SQL, HTTP and GitHub do not use for what they stood for here.
var coinedParts = wordSet(`tell tells told telling tellings hear hears heard hearing hearings asks asked asking askers tangle likeness likenesses shelf seat
	seats lane lanes echo echoes mend mends mended settle settles settled whoever nobody somebody anew desk house`)

// coinedNames are names of declarations that said too little.
var coinedNames = wordSet(`beyond proven cameFrom showAgain QueueTelling OtherTellings hearOf Keeper AskToAdd AskAgain AskToChange AskToRemove
	turns rounds lookAtHooks NoteHookLook RepositoriesToLookAt QueueTurn readTold whatever outlast unfit letGo separateEchoes
	continueBlind blindStanding blindSearch seenAlike recall makeRoom sayTheSame turnTo AsIf WouldBlock Stance placeMoved handOver
	SeeRunner ShowTickets PartTickets Ahead Announce ExpectScan roomForRun askPnpm addWay findWay quickArray readMet MemoryOfMemo
	distrust giveWay askAgain standing startWay sayCut toldElsewhere heedHangups firstTokenTold ownRunners letIn letInRoutes
	keepHalf HalfSession MayTake MayHandIn welcome unsaved asFilledIn Sooner Stops`)

// imperatives are verbs at the beginning of headings that address the reader.
var imperatives = wordSet(`ask call change check choose come connect decide do find follow get give go have hear hold keep know learn let
	look make manage move put read run say see send serve set share show start take tell try turn use work write`)

// maxWords is the greatest length of a sentence, and maxHelp of a help text, in words.
const (
	maxWords = 25
	maxHelp  = 10
)

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// check returns the violations of a passage, without the name of the file.
func check(p passage) (out []violation) {
	report := func(rule, found, advice string) {
		out = append(out, violation{line: p.line, rule: rule, found: found, advice: advice})
	}
	switch p.kind {
	case identifier:
		if coinedNames[p.text] {
			report("name", p.text, "choose a name that says what it is")
		}
		for _, part := range nameParts(p.text) {
			if coinedParts[part] {
				report("name", p.text, fmt.Sprintf("%q is not a word of the trade", part))
			}
		}
		return out
	case wide:
		report("width", p.text[:min(40, len(p.text))], fmt.Sprintf("wider than %d columns", markdownWidth))
		return out
	case heading:
		first, rest, _ := strings.Cut(strings.ToLower(p.text), " ")
		if imperatives[first] && rest != "" {
			report("heading", p.text, "use a noun: Querying the API")
		}
	case help:
		if n := len(strings.Fields(firstSentence(p.text))); n > maxHelp {
			report("help", p.text, fmt.Sprintf("%d words in the first sentence, at most %d", n, maxHelp))
		}
	}
	for _, r := range textRules {
		for _, m := range r.pattern.FindAllStringSubmatch(p.text, -1) {
			report(r.name, m[1], r.advice)
		}
	}
	for _, s := range sentences(p.text) {
		if n := len(strings.Fields(s)); n > maxWords {
			report("length", firstWords(s, 6), fmt.Sprintf("a sentence of %d words, at most %d", n, maxWords))
		}
	}
	return out
}

var sentenceEnd = regexp.MustCompile(`[.!?]["')]*\s+`)

// sentences divides a text. An abbreviation such as "e.g." ends none.
func sentences(text string) []string {
	text = strings.NewReplacer("e.g. ", "e.g.", "i.e. ", "i.e.", "vs. ", "vs.", "etc. ", "etc.").Replace(text)
	return sentenceEnd.Split(text, -1)
}

func firstSentence(text string) string { return sentences(text)[0] }

func firstWords(text string, n int) string {
	w := strings.Fields(text)
	return strings.Join(w[:min(n, len(w))], " ")
}

// nameParts divides a name in camel case into words in lower case.
func nameParts(name string) (parts []string) {
	var part []rune
	runes := []rune(name)
	for i, r := range runes {
		begins := unicode.IsUpper(r) && (i > 0 && !unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if (begins || r == '_') && len(part) > 0 {
			parts, part = append(parts, strings.ToLower(string(part))), nil
		}
		if r != '_' {
			part = append(part, r)
		}
	}
	return append(parts, strings.ToLower(string(part)))
}
