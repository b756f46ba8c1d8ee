package e2e

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// recording is one run of the scanner: its inputs, requests, responses and outputs. Values that
// differ between runs are replaced by names between @@.
type recording struct {
	Run       scannerRun
	Exchanges []exchange
	Files     map[string]string // by flag
	Stdout    string
	Stderr    string
	Exit      int
}

// scannerRun contains the inputs of a run of the scanner, except the server.
type scannerRun struct {
	Args   []string
	Env    []string // variables with the prefix SEMGREP_, and those of a CI
	Commit string   // of the checkout
	Status string   // changes since that commit
}

// exchange is a request of the scanner and its response. A status of 0 is a broken connection.
type exchange struct {
	Method, URI, Body string
	Header            http.Header
	Status            int
	Answer            string
}

// is reports whether two requests are repetitions of one request.
func (e exchange) is(o exchange) bool { return e.Method == o.Method && e.URI == o.URI }

// volatileValues maps names in a recording to the values of a run.
type volatileValues map[string]string

var (
	tokens    = regexp.MustCompile(`rdt_\w+`)
	addresses = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	requests  = regexp.MustCompile(`"request_id":"\w+"`)
	times     = regexp.MustCompile(`20\d\d-\d\d-\d\dT[0-9:.]+Z?`)
	scanPath  = regexp.MustCompile(`^/api/agent/scans/(\d+)/`)
)

// names replaces values by names, the longest first, because one may contain another.
func (v volatileValues) names(text string) string {
	return v.each(text, func(text, name, value string) string { return strings.ReplaceAll(text, value, "@@"+name+"@@") })
}

// values replaces names by values.
func (v volatileValues) values(text string) string {
	return v.each(text, func(text, name, value string) string { return strings.ReplaceAll(text, "@@"+name+"@@", value) })
}

func (v volatileValues) each(text string, replace func(text, name, value string) string) string {
	for _, name := range slices.SortedFunc(maps.Keys(v), func(a, b string) int { return len(v[b]) - len(v[a]) }) {
		if v[name] != "" {
			text = replace(text, name, v[name])
		}
	}
	return text
}

// header changes every line of a header, including decoded basic credentials.
func header(h http.Header, change func(string) string) http.Header {
	out := http.Header{}
	for name, lines := range h {
		for _, line := range lines {
			if basic, is := strings.CutPrefix(line, "Basic "); is {
				if pair, err := base64.StdEncoding.DecodeString(basic); err == nil {
					line = "Basic " + base64.StdEncoding.EncodeToString([]byte(change(string(pair))))
				}
			}
			out.Add(name, change(line))
		}
	}
	return out
}

// maskVariables removes the parts of a response that may differ between two servers: addresses, times, and
// the ids of the request and of the scan.
func maskVariables(status int, answer, scan string) string {
	answer = requests.ReplaceAllString(answer, `"request_id":"@@REQUEST@@"`)
	answer = times.ReplaceAllString(addresses.ReplaceAllString(answer, "@@ADDRESS@@"), "@@TIME@@")
	if scan != "" {
		answer = regexp.MustCompile(`(\{"info":\{"id":|/scans/)`+scan+`\b`).ReplaceAllString(answer, "${1}@@SCAN@@")
	}
	return fmt.Sprintf("%d %s", status, answer)
}
