package advisory

import (
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// StaleAfter is the age at which what was loaded is warned about.
const StaleAfter = 48 * time.Hour

// staleScores is how old the day may be that EPSS scores are of; they come
// daily, and a file that was carried in may be old although it was loaded now.
const staleScores = 7 * 24 * time.Hour

// Age says when a source was last found to be up to date, and whether that, or
// what it holds, is so long ago that people should be warned.
func Age(now time.Time, s model.AdvisorySource) (at time.Time, stale bool) {
	at = s.CheckedAt
	if s.LoadedAt.After(at) {
		at = s.LoadedAt
	}
	old := s.Kind == "epss" && !s.NewestAt.IsZero() && now.Sub(s.NewestAt) > staleScores
	return at, at.IsZero() || now.Sub(at) > StaleAfter || old || s.Error != ""
}
