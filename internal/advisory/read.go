package advisory

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
)

// Limits of a record. Excess data is truncated, or the record is refused.
const (
	MaxRecord     = 8 << 20 // bytes of a record
	maxName       = 512     // bytes of an id, a package or a version
	maxAliases    = 100
	maxAffected   = 2000
	maxVersions   = 20_000 // of one package
	maxEvents     = 2000   // of one range
	maxSummary    = 500
	maxDetails    = 16 << 10
	maxReferences = 40
	maxURL        = 2000
)

// wire is an OSV record as received. Fields that are parsed separately are raw, so that one invalid
// field does not affect the others.
type wire struct {
	ID        string            `json:"id"`
	Modified  string            `json:"modified"`
	Published string            `json:"published"`
	Withdrawn string            `json:"withdrawn"`
	Aliases   json.RawMessage   `json:"aliases"`
	Summary   json.RawMessage   `json:"summary"`
	Details   json.RawMessage   `json:"details"`
	Severity  json.RawMessage   `json:"severity"`
	Affected  []json.RawMessage `json:"affected"`
	Refs      json.RawMessage   `json:"references"`
	Database  json.RawMessage   `json:"database_specific"`
}

type wireAffected struct {
	Package struct {
		Ecosystem string `json:"ecosystem"`
		Name      string `json:"name"`
	} `json:"package"`
	Ranges    []json.RawMessage `json:"ranges"`
	Versions  json.RawMessage   `json:"versions"`
	Severity  json.RawMessage   `json:"severity"`
	Ecosystem json.RawMessage   `json:"ecosystem_specific"`
	Database  json.RawMessage   `json:"database_specific"`
}

type wireRange struct {
	Type   string              `json:"type"`
	Events []map[string]string `json:"events"`
}

// Read parses an OSV record. It omits unusable parts. It returns an error for a record without an
// id, or with packages that are not a list.
func Read(data []byte) (Record, error) {
	if len(data) > MaxRecord {
		return Record{}, fmt.Errorf("it has %d bytes; the limit for a record is %d", len(data), MaxRecord)
	}
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return Record{}, fmt.Errorf("it is not an OSV record: %w", err)
	}
	w.ID = strings.TrimSpace(w.ID)
	if w.ID == "" || !isUsableName(w.ID) {
		return Record{}, errors.New("it has no id, so it is not an OSV record")
	}
	if len(w.Affected) > maxAffected {
		return Record{}, fmt.Errorf("%s names %d packages; the limit for a record is %d",
			w.ID, len(w.Affected), maxAffected)
	}
	r := Record{
		Facts: Facts{ID: w.ID, Withdrawn: strings.TrimSpace(w.Withdrawn) != "", Malicious: strings.HasPrefix(w.ID, "MAL-")},
		Text: Text{
			Summary: truncate(jsonString(w.Summary), maxSummary), Details: truncate(jsonString(w.Details), maxDetails),
			Published: parseTime(w.Published), Modified: parseTime(w.Modified), WithdrawnAt: parseTime(w.Withdrawn),
		},
	}
	r.Aliases = names(w.Aliases, maxAliases)
	r.Aliases = slices.DeleteFunc(r.Aliases, func(a string) bool { return a == r.ID })
	r.Rating, r.Vector, r.Score = rating(w.Severity, w.Database)
	r.CWEs, r.References = cwes(w.Database), references(w.Refs)
	for _, raw := range w.Affected {
		if a, ok := affected(raw); ok {
			r.Affected = append(r.Affected, a)
		}
	}
	return r, nil
}

// isUsableName reports whether a name can be stored and compared.
func isUsableName(s string) bool {
	return s != "" && len(s) <= maxName && utf8.ValidString(s) &&
		!strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f })
}

// jsonString returns a JSON string, or "" for other values.
func jsonString(raw json.RawMessage) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// truncate shortens a text to at most n bytes at a character boundary, and appends an ellipsis.
func truncate(s string, n int) string {
	s = strings.ToValidUTF8(strings.TrimSpace(strings.ReplaceAll(s, "\x00", "")), "\uFFFD")
	if short := model.CutBytes(s, n); short != s {
		return short + "…"
	}
	return s
}

func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339, strings.TrimSpace(s))
	if err != nil || t.Year() < 1970 {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// names returns the distinct usable names of a list.
func names(raw json.RawMessage, limit int) (out []string) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	seen := map[string]bool{}
	for _, item := range list {
		if s := strings.TrimSpace(jsonString(item)); isUsableName(s) && !seen[s] && len(out) < limit {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// affected parses the data about one package.
func affected(raw json.RawMessage) (Affected, bool) {
	var w wireAffected
	if json.Unmarshal(raw, &w) != nil || !isUsableName(w.Package.Name) || !isUsableName(w.Package.Ecosystem) {
		return Affected{}, false
	}
	a := Affected{Package: purl.Key(w.Package.Ecosystem, w.Package.Name), Name: strings.TrimSpace(w.Package.Name)}
	a.Versions = names(w.Versions, maxVersions)
	for _, one := range w.Ranges {
		var r wireRange
		if json.Unmarshal(one, &r) != nil || r.Type != "SEMVER" && r.Type != "ECOSYSTEM" || len(r.Events) > maxEvents {
			continue // GIT ranges need the history of a repository
		}
		if events := eventsOf(r.Events); len(events) > 0 {
			a.Ranges = append(a.Ranges, Range{events})
		}
	}
	a.Rating, _, _ = rating(w.Severity, w.Database)
	if a.Rating == (Rating{}) {
		a.Rating, _, _ = rating(nil, w.Ecosystem)
	}
	return a, true
}

func eventsOf(list []map[string]string) (out []Event) {
	for _, e := range list {
		for _, member := range []string{"introduced", "fixed", "last_affected", "limit"} {
			version := strings.TrimSpace(e[member])
			if !isUsableName(version) {
				continue
			}
			switch member {
			case "introduced":
				out = append(out, Event{Introduced: version})
			case "fixed":
				out = append(out, Event{Fixed: version})
			case "last_affected":
				out = append(out, Event{LastAffected: version})
			case "limit":
				out = append(out, Event{Limit: version})
			}
		}
	}
	return out
}

// rating returns the rating of the newest CVSS version, or otherwise the database's own severity.
func rating(severity, database json.RawMessage) (best Rating, vector string, score float64) {
	var list []struct {
		Score string `json:"score"`
	}
	if json.Unmarshal(severity, &list) == nil {
		for _, one := range list {
			points, evidence, ok := ReadCVSS(one.Score)
			next := Rating{evidence, model.SeverityOfScore(points)}
			if ok && best.better(next) != best {
				best, vector, score = next, strings.TrimSpace(one.Score), points
			}
		}
	}
	if best.Evidence == NoEvidence {
		var own struct {
			Severity json.RawMessage `json:"severity"`
		}
		if json.Unmarshal(database, &own) == nil {
			best = ratingOfWord(jsonString(own.Severity))
		}
	}
	return best, vector, score
}

var cweID = regexp.MustCompile(`^CWE-\d{1,6}$`)

// cwes returns the weaknesses in the database-specific data.
func cwes(database json.RawMessage) (out []string) {
	var own struct {
		IDs  json.RawMessage `json:"cwe_ids"`
		CWEs []struct {
			ID string `json:"cweId"`
		} `json:"cwes"`
	}
	if json.Unmarshal(database, &own) != nil {
		return nil
	}
	list := names(own.IDs, maxAliases)
	for _, c := range own.CWEs {
		list = append(list, c.ID)
	}
	for _, id := range list {
		if cweID.MatchString(id) && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// references returns the URLs of web pages.
func references(raw json.RawMessage) (out []string) {
	var list []struct {
		URL string `json:"url"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	for _, r := range list {
		web := strings.HasPrefix(r.URL, "https://") || strings.HasPrefix(r.URL, "http://")
		if web && len(r.URL) <= maxURL && isUsableName(r.URL[:min(len(r.URL), maxName)]) && len(out) < maxReferences &&
			!slices.Contains(out, r.URL) {
			out = append(out, strings.ToValidUTF8(r.URL, "%FFFD"))
		}
	}
	return out
}
