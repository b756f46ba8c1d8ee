package advisory

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// maxCatalogue limits the catalog of exploited vulnerabilities, in bytes. Its actual size is about
// 1.5 million bytes.
const maxCatalogue = 64 << 20

// KEVFile is the catalog of known exploited vulnerabilities.
type KEVFile struct {
	Version  string    // of the catalog; empty if unknown
	Released time.Time // zero if unknown
	Entries  []model.KEV
	Broken   int // number of entries without a CVE or the date added
}

// ReadKEV reads the catalog that CISA publishes, as JSON or compressed JSON. Invalid entries are
// counted and skipped. A file without a list of entries is an error.
func ReadKEV(r io.Reader) (f KEVFile, err error) {
	plain, err := gunzip(r)
	if err != nil {
		return f, err
	}
	data, err := io.ReadAll(io.LimitReader(plain, maxCatalogue+1))
	if err != nil {
		return f, err
	}
	if len(data) > maxCatalogue {
		return f, fmt.Errorf("it exceeds the limit of %d bytes for a catalog", maxCatalogue)
	}
	var w struct {
		Version  json.RawMessage   `json:"catalogVersion"`
		Released json.RawMessage   `json:"dateReleased"`
		Entries  []json.RawMessage `json:"vulnerabilities"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return f, fmt.Errorf("it is not a catalog of exploited vulnerabilities: %w", err)
	}
	if w.Entries == nil {
		return f, errors.New("it has no list of vulnerabilities, so it is not a catalog of exploited vulnerabilities")
	}
	f.Version, f.Released = truncate(jsonString(w.Version), maxName), parseTime(jsonString(w.Released))
	seen := map[string]bool{}
	for _, raw := range w.Entries {
		entry, ok := kevEntry(raw)
		if !ok {
			f.Broken++
			continue
		}
		if !seen[entry.CVE] {
			seen[entry.CVE] = true
			f.Entries = append(f.Entries, entry)
		}
	}
	return f, nil
}

func kevEntry(raw json.RawMessage) (model.KEV, bool) {
	var w struct {
		CVE        string `json:"cveID"`
		Name       string `json:"vulnerabilityName"`
		Added      string `json:"dateAdded"`
		Due        string `json:"dueDate"`
		Action     string `json:"requiredAction"`
		Ransomware string `json:"knownRansomwareCampaignUse"`
	}
	if json.Unmarshal(raw, &w) != nil {
		return model.KEV{}, false
	}
	added, err := time.Parse(time.DateOnly, strings.TrimSpace(w.Added))
	entry := model.KEV{
		CVE: strings.ToUpper(strings.TrimSpace(w.CVE)), Added: added, Ransomware: strings.EqualFold(w.Ransomware, "known"),
		Name: truncate(w.Name, maxSummary), Action: truncate(w.Action, maxURL),
	}
	if due, err := time.Parse(time.DateOnly, strings.TrimSpace(w.Due)); err == nil {
		entry.Due = due
	}
	return entry, err == nil && cveID.MatchString(entry.CVE)
}
