package advisory

import (
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// StaleAfter is the age from which a source counts as stale.
const StaleAfter = 48 * time.Hour

// staleScores is the maximum age of EPSS scores by their date. Scores are published daily, but an
// imported file may be older than its import.
const staleScores = 7 * 24 * time.Hour

// Age returns when a source was last checked or loaded, and whether it is stale. It is also stale
// if its EPSS scores are old or the last update failed.
func Age(now time.Time, s model.AdvisorySource) (at time.Time, stale bool) {
	at = s.CheckedAt
	if s.LoadedAt.After(at) {
		at = s.LoadedAt
	}
	old := s.Kind == "epss" && !s.NewestAt.IsZero() && now.Sub(s.NewestAt) > staleScores
	return at, at.IsZero() || now.Sub(at) > StaleAfter || old || s.Error != ""
}
