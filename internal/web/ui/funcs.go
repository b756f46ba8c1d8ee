package ui

import (
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// funcs returns the functions of templates.
func (p *Pages) funcs() template.FuncMap {
	return template.FuncMap{
		"asset":     func(name string) string { return p.assets.address[name] },
		"count":     Count,
		"once":      onceText,
		"safeURL":   safeURL,
		"iso":       func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"utc":       func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
		"ago":       func(t time.Time) string { return Ago(p.Clock().Sub(t)) },
		"branch":    Branch,
		"markdown":  markdown,
		"words":     words,
		"list":      func(items ...any) []any { return items },
		"percent":   percent,
		"span":      Duration,
		"plural":    Plural,
		"shortRule": ShortRule,
		"minus":     func(a, b float64) float64 { return a - b },
		"mayTriage": func(v Viewer) bool { return v.May(model.RoleTriager) },
		"mayAdmin":  func(v Viewer) bool { return v.May(model.RoleAdmin) },
		"capital":   Capital,
		"browser":   browserName,
		"day":       func(t time.Time) string { return t.UTC().Format(time.DateOnly) },
		"lastDay":   model.LastDay,
		"who":       ActorName,
		"reason":    ReasonWord,
		"middle":    middle,
	}
}

// Count formats a number with a narrow space between groups of thousands.
func Count(n int) string {
	s := strconv.Itoa(n)
	for at := len(s) - 3; at > 0 && s[at-1] != '-'; at -= 3 {
		s = s[:at] + "\u202f" + s[at:]
	}
	return s
}

// safeURL returns an address from a scanner if it is an http or https URL, and an empty string
// otherwise.
func safeURL(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	return u.String()
}

// Branch returns the short name of a ref.
func Branch(ref string) string {
	for _, prefix := range []string{"refs/heads/", "refs/tags/"} {
		if short, ok := strings.CutPrefix(ref, prefix); ok {
			return short
		}
	}
	return strings.TrimPrefix(ref, "refs/")
}

// Ago formats an elapsed time in the largest unit that fits.
func Ago(d time.Duration) string {
	units := []struct {
		name string
		size time.Duration
	}{
		{"year", 365 * 24 * time.Hour},
		{"month", 30 * 24 * time.Hour},
		{"day", 24 * time.Hour},
		{"hour", time.Hour},
		{"minute", time.Minute},
	}
	for _, u := range units {
		if n := int(d / u.size); n > 0 {
			return Plural(n, u.name) + " ago"
		}
	}
	return "just now"
}

// Duration formats a duration in a suitable unit.
func Duration(d time.Duration) string {
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h"
	}
	return Plural(int(d.Hours()/24), "day")
}

// Plural formats a count with its noun: "1 day", "2 days".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	switch {
	case strings.HasSuffix(noun, "ch"):
		return Count(n) + " " + noun + "es"
	case strings.HasSuffix(noun, "ty"):
		return Count(n) + " " + strings.TrimSuffix(noun, "y") + "ies"
	}
	return Count(n) + " " + noun + "s"
}

// ActorName returns the display name of an actor, given as a model.Actor or as text. A user is
// shown by name, other actors with their kind.
func ActorName(actor any) string {
	kind, name, _ := strings.Cut(fmt.Sprint(actor), ":")
	switch {
	case name == "":
		return kind
	case kind == "user":
		return name
	}
	return kind + " " + name
}

// ReasonWord returns the display text of a reason for ignoring, given its API value.
func ReasonWord(wire string) string {
	switch wire {
	case model.NoTime.String():
		return "No time to fix"
	case model.NoTriageReason.String():
		return "Not specified"
	}
	return Capital(wire)
}

// shownEnd is the number of characters that stay visible at the end of a long name.
const shownEnd = 20

// middle splits a name so that a page can cut it in the middle. Names of rules and files start
// alike and differ at their ends. The second part starts at a separator if one is near.
func middle(name string) [2]string {
	runes := []rune(name)
	if len(runes) <= shownEnd {
		return [2]string{"", name}
	}
	at := len(runes) - shownEnd
	for i := at; i < len(runes)-8; i++ {
		if strings.ContainsRune("./-_", runes[i]) {
			at = i
			break
		}
	}
	return [2]string{string(runes[:at]), string(runes[at:])}
}

// words replaces the underscores of an API value with spaces.
func words(s string) string { return strings.ReplaceAll(s, "_", " ") }

// percent formats a ratio from 0 to 1.
func percent(share float64) string {
	digits := 0
	if share < 0.1 {
		digits = 1
	}
	return strconv.FormatFloat(100*share, 'f', digits, 64) + "\u202f%"
}

// Capital formats an API value with spaces and a capital first letter.
func Capital(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + strings.ReplaceAll(s[1:], "_", " ")
}

// ShortRule returns the last part of a dotted rule name. Scanners build such names from paths.
func ShortRule(name string) string {
	parts := strings.Split(name, ".")
	return parts[len(parts)-1]
}
