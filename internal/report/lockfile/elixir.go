package lockfile

import (
	"regexp"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

var (
	mixEntry  = regexp.MustCompile(`^\s*"([^"]+)":\s*\{:(\w+),\s*(.*)$`)
	mixHex    = regexp.MustCompile(`^:"?([^",\s]+)"?,\s*"([^"]+)"`)
	mixSHA256 = regexp.MustCompile(`"([0-9a-f]{64})"`)
)

// readMixLock reads mix.lock, an Elixir term with one entry per line. Direct packages are only in
// mix.exs. The last checksum of an entry is that of the archive.
func readMixLock(l *lock) error {
	opened, closed := false, false
	for number, line := range l.numbered {
		m := mixEntry.FindStringSubmatch(line)
		switch bare := strings.TrimSpace(line); {
		case bare == "" || strings.HasPrefix(bare, "#"):
			continue
		case !opened && (bare == "%{" || bare == "%{}"):
			opened, closed = true, bare == "%{}"
			continue
		case opened && !closed && bare == "}":
			closed = true
			continue
		case !opened || closed || m == nil || !strings.HasSuffix(strings.TrimSuffix(bare, ","), "}"):
			return read.NotA("mix.lock", "line %d is neither %%{, } nor an entry", number)
		}
		hex := mixHex.FindStringSubmatch(m[3])
		if m[2] != "hex" || hex == nil {
			l.refuse(m[1], "its version is unknown: its source is %s, not Hex", m[2])
			continue
		}
		d := model.Dependency{Name: strings.TrimSpace(hex[1]), Version: hex[2], Line: number}
		if sums := mixSHA256.FindAllStringSubmatch(m[3], -1); sums != nil {
			d.Hashes = []model.Hash{{Algorithm: "SHA-256", Hex: sums[len(sums)-1][1]}}
		}
		l.Add(d)
	}
	switch {
	case !opened:
		return read.NotA("mix.lock", "it has no line %%{")
	case !closed:
		return read.CutOff("its map is not closed")
	}
	return nil
}
