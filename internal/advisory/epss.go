package advisory

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// EPSSFile describes a file of EPSS scores.
type EPSSFile struct {
	Model  string    // version of the model, or "" if unknown
	Date   time.Time // of the scores; zero if unknown
	Scores int
	Broken int // number of invalid lines
}

// Limits of EPSS files.
const (
	maxScores = 2_000_000
	maxLine   = 4096
)

var cveID = regexp.MustCompile(`^CVE-\d{4}-\d{4,19}$`)

// ReadEPSS reads an EPSS file as FIRST publishes it, as CSV or compressed CSV, and calls handle
// with each score. Invalid lines are counted and skipped. A file without the columns cve, epss and
// percentile is an error.
func ReadEPSS(r io.Reader, handle func(model.EPSSScore) error) (f EPSSFile, err error) {
	plain, err := gunzip(r)
	if err != nil {
		return f, err
	}
	lines := bufio.NewScanner(plain)
	lines.Buffer(make([]byte, maxLine), maxLine)
	var columns map[string]int
	for lines.Scan() {
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		switch {
		case line == "":
		case strings.HasPrefix(line, "#"):
			f.readHeader(line)
		case columns == nil:
			if columns, err = epssColumns(line); err != nil {
				return f, err
			}
		default:
			score, ok := epssLine(line, columns)
			if !ok {
				f.Broken++
				continue
			}
			if f.Scores++; f.Scores > maxScores {
				return f, fmt.Errorf("it has more than %d scores", maxScores)
			}
			if err := handle(score); err != nil {
				return f, err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return f, fmt.Errorf("it cannot be read after %d scores: %w", f.Scores, err)
	}
	if columns == nil {
		return f, errors.New("it is empty: a file of EPSS scores has the columns cve, epss and percentile")
	}
	return f, nil
}

// gunzip decompresses a stream if it is in gzip format.
func gunzip(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	if magic, err := b.Peek(2); err != nil || !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return b, nil //nolint:nilerr // shorter than two bytes: the reader reports it
	}
	return gzip.NewReader(b)
}

// readHeader parses "#model_version:v2025.03.14,score_date:2026-08-01T12:00:00Z".
func (f *EPSSFile) readHeader(line string) {
	for part := range strings.SplitSeq(strings.TrimPrefix(line, "#"), ",") {
		name, value, _ := strings.Cut(part, ":")
		switch strings.TrimSpace(name) {
		case "model_version":
			f.Model = truncate(value, maxName)
		case "score_date":
			for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05-0700", time.DateOnly} {
				if t, err := time.Parse(layout, strings.TrimSpace(value)); err == nil {
					f.Date = t.UTC()
				}
			}
		}
	}
}

func epssColumns(line string) (map[string]int, error) {
	columns := map[string]int{}
	for i, name := range strings.Split(strings.ToLower(line), ",") {
		columns[strings.Trim(name, ` "`)] = i
	}
	for _, name := range []string{"cve", "epss", "percentile"} {
		if _, ok := columns[name]; !ok {
			return nil, fmt.Errorf("it has no column %s: a file of EPSS scores has the columns cve, epss and percentile", name)
		}
	}
	return columns, nil
}

func epssLine(line string, columns map[string]int) (model.EPSSScore, bool) {
	fields := strings.Split(line, ",")
	field := func(name string) string {
		if columns[name] >= len(fields) {
			return ""
		}
		return strings.Trim(fields[columns[name]], ` "`)
	}
	score := model.EPSSScore{CVE: strings.ToUpper(field("cve"))}
	var okScore, okPercentile bool
	score.Score, okScore = parseProbability(field("epss"))
	score.Percentile, okPercentile = parseProbability(field("percentile"))
	return score, okScore && okPercentile && cveID.MatchString(score.CVE)
}

// parseProbability parses a number from 0 to 1.
func parseProbability(s string) (float64, bool) {
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && v >= 0 && v <= 1
}
