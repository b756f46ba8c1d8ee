package lockfile

import (
	"regexp"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

var cpanDistribution = regexp.MustCompile(`^  ([A-Za-z0-9_.+-]+?)-(v?[0-9][0-9A-Za-z._]*(?:-TRIAL)?)$`)

// readCPANSnapshot reads Carton's cpanfile.snapshot. Distributions are indented by two spaces,
// their details further.
func readCPANSnapshot(l *lock) error {
	listed := false
	for number, line := range l.numbered {
		m := cpanDistribution.FindStringSubmatch(line)
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case line == "DISTRIBUTIONS":
			listed = true
		case !listed:
			return read.NotA("cpanfile.snapshot", "line %d comes before DISTRIBUTIONS", number)
		case m != nil:
			l.Add(model.Dependency{Name: m[1], Version: m[2], Line: number})
		case !strings.HasPrefix(line, "    "):
			return read.NotA("cpanfile.snapshot", "line %d is neither a distribution and its version nor about one", number)
		}
	}
	if !listed {
		return read.NotA("cpanfile.snapshot", "it has no line DISTRIBUTIONS")
	}
	return nil
}
