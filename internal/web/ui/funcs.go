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

// funcs are what templates may call.
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

// Count writes a number with a thin gap between thousands.
func Count(n int) string {
	s := strconv.Itoa(n)
	for at := len(s) - 3; at > 0 && s[at-1] != '-'; at -= 3 {
		s = s[:at] + "\u202f" + s[at:]
	}
	return s
}

// safeURL is an address that scanners gave, when a browser may follow it, else
// nothing: only the web, never javascript: or a file.
func safeURL(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	return u.String()
}

// Branch is a ref as people call it.
func Branch(ref string) string {
	for _, prefix := range []string{"refs/heads/", "refs/tags/"} {
		if short, ok := strings.CutPrefix(ref, prefix); ok {
			return short
		}
	}
	return strings.TrimPrefix(ref, "refs/")
}

// Ago is how long something is past, in the largest unit that fits.
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

// Duration is a span of time in the unit that people would say it in.
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

// Plural is "1 day", "2 days".
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

// ActorName is what people call an actor, which may be written as text: a user by the
// name alone, all others by their kind too.
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

// ReasonWord is what people call a reason to ignore, by its word on the wire.
func ReasonWord(wire string) string {
	switch wire {
	case model.NoTime.String():
		return "Won’t fix now"
	case model.NoTriageReason.String():
		return "Not specified"
	}
	return Capital(wire)
}

// shownEnd is how much of the end of a long name is always to be seen.
const shownEnd = 20

// middle parts a name so that what is too long can be cut in its middle: names
// of rules and files begin alike and differ at their ends. The end starts at a
// part of the name where that is near.
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

// words writes a word of the wire with spaces.
func words(s string) string { return strings.ReplaceAll(s, "_", " ") }

// percent writes a share from 0 to 1.
func percent(share float64) string {
	digits := 0
	if share < 0.1 {
		digits = 1
	}
	return strconv.FormatFloat(100*share, 'f', digits, 64) + "\u202f%"
}

// Capital writes a word of the wire with a capital first letter and spaces.
func Capital(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + strings.ReplaceAll(s[1:], "_", " ")
}

// ShortRule is the last part of a dotted rule name, which scanners build from
// paths.
func ShortRule(name string) string {
	parts := strings.Split(name, ".")
	return parts[len(parts)-1]
}
